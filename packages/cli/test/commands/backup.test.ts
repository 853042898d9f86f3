// `backup` and `restore` as their owner types them: under traffic, after a kill, and where they refuse.

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { afterAll, expect } from "vitest";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, run, runHere, start, temporaryFolder, type Served } from "../Binary.ts";
import { joined, json, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const back = join(root, "ada-back");
const copy = join(root, "copies", "ada-1");
const daemons = new Set<Served>();

const up = async (state: string): Promise<Served> => {
  const daemon = await startDaemon(state);
  daemons.add(daemon);
  return daemon;
};

const down = async (daemon: Served): Promise<void> => {
  expect(await daemon.stop()).toBe(0);
  daemons.delete(daemon);
};

afterAll(async () => {
  for (const daemon of daemons) await daemon.stop();
});

const storeOf = (state: string): string => join(state, "endpoint.sqlite");
const sent = (from: string, to: string, text: string) =>
  json("send", `agent:${to}-agent`, text, "--state", from);

verifies(
  ["RUN-189", "RUN-180", "RUN-184"],
  "an endpoint that is backed up under traffic, killed and restored goes on, and no disk shows a conflict",
  async () => {
    await joined(ada, "ada-agent");
    await joined(bob, "bob-agent");
    const first = await up(ada);
    const other = await up(bob);
    expect((await sent(ada, "bob", "begin"))["status"]).toBe("certified");
    const talking = new AbortController();
    const traffic = (async () => {
      for (let i = 0; !talking.signal.aborted; i++) {
        await run(["send", "agent:ada-agent", `word ${i}`, "--state", bob]);
      }
    })();
    const made = await json("backup", copy, "--state", ada);
    expect(made).toMatchObject({
      kind: "backed-up",
      backup: copy,
      agentName: "ada-agent",
      files: ["identity.json", "config.json", "endpoint.sqlite", "registration.json"],
    });
    expect((await sent(ada, "bob", "after the backup"))["status"]).toBe("certified");
    talking.abort();
    await traffic;
    await first.stop("SIGKILL");
    daemons.delete(first);

    const restored = await json("restore", copy, "--state", back);
    expect(restored).toMatchObject({
      kind: "restored",
      agentName: "ada-agent",
      conversations: 1,
      state: back,
    });
    expect(await json("restore", copy, "--state", back)).toMatchObject({ kind: "already" });
    const second = await up(back);
    const recovering = async () =>
      ((await json("status", "--state", back)) as { health: { restored: { conversations: number } | null } })
        .health.restored?.conversations;
    await expect.poll(recovering, { timeout: 60_000 }).toBe(0);
    expect((await sent(back, "bob", "from the copy"))["status"]).toBe("certified");
    expect((await sent(bob, "ada", "welcome back"))["status"]).toBe("certified");
    const judged = () =>
      DiskOracle.judge([storeOf(back), storeOf(bob)], { quiet: true, former: [storeOf(ada)] });
    await expect.poll(() => judged().problems, { timeout: 60_000 }).toEqual([]);
    await down(second);
    await down(other);
    expect(judged().problems).toEqual([]);
  },
  180_000,
);

const unfinishedIn = (parent: string): ReadonlyArray<string> =>
  readdirSync(parent).filter((name) => name.includes(".unfinished-"));

/** Runs a command that makes a folder in `parent`, and signals it as soon as it has begun to. */
const endedIn = async (
  parent: string,
  words: ReadonlyArray<string>,
  signal: NodeJS.Signals,
): Promise<void> => {
  const before = new Set(unfinishedIn(parent));
  const child = start(words, {});
  const ended = once(child, "exit");
  while (unfinishedIn(parent).every((name) => before.has(name)) && child.exitCode === null)
    await setImmediate();
  child.kill(signal);
  await ended;
};

/** Mostly the kill comes in time and there is nothing; what there is otherwise is whole. */
const takeAway = async (path: string): Promise<void> => {
  if (!existsSync(path)) return;
  expect((await json("verify", "--full", "--state", path))["ok"]).toBe(true);
  rmSync(path, { recursive: true });
};

verifies(
  ["RUN-181", "RUN-184"],
  "killed while they write, both leave nothing under the name that was asked for, and the next one is whole",
  async () => {
    const around = temporaryFolder();
    const [target, made] = [join(around, "copy"), join(around, "state")];
    for (let i = 0; i < 3; i++) {
      await endedIn(around, ["backup", target, "--state", bob], "SIGKILL");
      await takeAway(target);
    }
    await json("backup", target, "--state", bob);
    for (let i = 0; i < 3; i++) {
      await endedIn(around, ["restore", target, "--state", made], "SIGKILL");
      await takeAway(made);
    }
    expect(await json("restore", target, "--state", made)).toMatchObject({ kind: "restored" });
    expect((await json("verify", "--full", "--state", made))["ok"]).toBe(true);
    expect(unfinishedIn(around)).toEqual([]);
  },
  60_000,
);

verifies(
  "RUN-350",
  "interrupted while they write, both take away what they had made, keys and all",
  async () => {
    const around = temporaryFolder();
    const [target, made] = [join(around, "copy"), join(around, "state")];
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      await endedIn(around, ["backup", target, "--state", bob], signal);
      expect(unfinishedIn(around), signal).toEqual([]);
      await takeAway(target);
    }
    await json("backup", target, "--state", bob);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      await endedIn(around, ["restore", target, "--state", made], signal);
      expect(unfinishedIn(around), signal).toEqual([]);
      await takeAway(made);
    }
    // What another process fills at this moment is not ours to take away.
    const living = join(around, `.state.unfinished-${process.pid}-abcdef`);
    mkdirSync(living);
    await json("restore", target, "--state", made);
    expect(unfinishedIn(around)).toEqual([basename(living)]);
  },
  60_000,
);

verifies(
  ["RUN-181", "RUN-186", "RUN-187"],
  "a taken name, a folder in use and a backup that is none are refused with what to do, and nothing is made",
  async () => {
    expect(await refusal("backup", copy, "--state", ada)).toEqual([1, "state-exists"]);
    expect(await refusal("restore", copy, "--state", bob)).toEqual([1, "state-exists"]);
    expect(await refusal("restore", bob, "--state", join(root, "new"))).toEqual([1, "state-missing"]);
    expect(await refusal("backup", join(root, "none-copy"), "--state", join(root, "none"))).toEqual([
      1,
      "state-missing",
    ]);
    expect(await refusal("backup", "", "--state", ada)).toEqual([2, "usage"]);
    writeFileSync(join(copy, "backup.json"), '{"kind":"backup","version":2}');
    const later = await runHere(["restore", copy, "--state", join(root, "new"), "--json"]);
    expect([later.code, failureOf(later).reason]).toEqual([1, "state-other-version"]);
    expect(failureOf(later).next).toContain("Restore it with the program that wrote it");
    expect(existsSync(join(root, "new"))).toBe(false);
    expect(readdirSync(root).filter((name) => name.includes("unfinished"))).toEqual([]);
  },
);

verifies(
  "RUN-284",
  "a backup goes into no state folder that it is of, whatever path leads there",
  async () => {
    const before = readdirSync(bob).toSorted();
    const door = join(root, "door");
    symlinkSync(bob, door);
    for (const [inside, state] of [
      [join(bob, "copy"), bob],
      [join(bob, "logs", "some", "where"), bob],
      [join(door, "copy"), bob],
      [join(bob, "copy"), door],
      [`${bob}/../bob/copy`, bob],
    ] as const) {
      const ended = await runHere(["backup", inside, "--state", state, "--json"]);
      expect([ended.code, failureOf(ended).reason]).toEqual([1, "state-not-allowed"]);
      expect(failureOf(ended).message).toContain("inside the state folder");
    }
    expect(readdirSync(bob).toSorted()).toEqual(before);
    // A neighbour whose name begins in the same way is elsewhere.
    expect(await json("backup", `${bob}-copy`, "--state", bob)).toMatchObject({ kind: "backed-up" });
  },
);
