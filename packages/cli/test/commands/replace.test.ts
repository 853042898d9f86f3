// `daemon --replace`: one daemon in the place of another, and who is never signalled.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Replacing from "../../src/daemon/Replacing.ts";
import { failed } from "../../src/Failure.ts";
import * as Output from "../../src/Output.ts";
import { failureOf, run, runHere, serve, type Served } from "../Binary.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const replace = (state: string): ReadonlyArray<string> => [
  "daemon",
  "--replace",
  "--state",
  state,
  "--port",
  "0",
  "--json",
];
const pidIn = (state: string): unknown =>
  (JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as { pid: unknown }).pid;

/** The exit code of one that was asked to stop before: this signal asks for nothing. */
const ended = ({ stop }: Served): Promise<number | null> => stop("SIGCONT");

verifies("RUN-118", "a new daemon asks the old one to stop and takes its place", async () => {
  const state = join(root, "eve");
  await joined(state, "eve-agent");
  const alone = await serve(replace(state));
  const second = await serve(replace(state));
  expect(await ended(alone)).toBe(0);
  expect(pidIn(state)).toBe(second.pid);
  expect(await second.stop()).toBe(0);
});

/** Each is put in a new daemon's way, and taken out of it again; what `daemon` says of it. */
const obstacles = (state: string): ReadonlyArray<readonly [string, () => void, () => void]> => {
  const callbacks = join(state, "test-callbacks.json");
  const altered = (sql: string) => (): void => {
    const store = new DatabaseSync(join(state, "endpoint.sqlite"), { timeout: 30_000 });
    store.exec(sql);
    store.close();
  };
  return [
    ["state-not-allowed", () => writeFileSync(callbacks, "{}", { mode: 0o600 }), () => rmSync(callbacks)],
    ["store-newer-schema", altered("PRAGMA user_version = 99"), altered("PRAGMA user_version = 1")],
    [
      "store-corrupt",
      altered("INSERT INTO setting (name, value) VALUES ('verified_sequence', x'39')"),
      altered("DELETE FROM setting WHERE name = 'verified_sequence'"),
    ],
  ];
};

verifies(
  ["RUN-260", "RUN-02"],
  "nobody is asked to stop for a daemon that cannot start, whatever keeps it from that",
  async () => {
    const state = join(root, "hal");
    await joined(state, "hal-agent");
    const running = await startDaemon(state);
    const isRunning = async (): Promise<void> => {
      expect(pidIn(state)).toBe(running.pid);
      expect(await json("status", "--state", state)).toMatchObject({ kind: "active" });
    };
    for (const [reason, put, take] of obstacles(state)) {
      put();
      const refused = await runHere(replace(state));
      take();
      expect([refused.code, failureOf(refused).reason]).toEqual([1, reason]);
      expect(failureOf(refused).next).not.toBe("");
      await isRunning();
    }
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const refused = await runHere([...replace(state), "--port", `${port}`]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "cannot-listen"]);
    await isRunning();
    // Its own port will be free once it has gone.
    const own = new URL(running.ready["mcpUrl"] as string).port;
    const next = await serve([...replace(state), "--port", own]);
    expect(await ended(running)).toBe(0);
    expect([pidIn(state), next.ready["mcpUrl"]]).toEqual([next.pid, running.ready["mcpUrl"]]);
    expect(await next.stop()).toBe(0);
  },
);

verifies("RUN-261", "a start that fails after the other has gone says so and what to do", async () => {
  const state = join(root, "ida");
  await joined(state, "ida-agent");
  const gone = await startDaemon(state);
  const start = (): Promise<never> => Promise.reject(failed("broken", "it broke", "Mend it."));
  const output = Output.create(true);
  const folder = StateFolder.at(state);
  await expect(Replacing.replace({ output, folder, start }, () => Promise.resolve())).rejects.toMatchObject({
    reason: "broken",
    message: `the daemon with pid ${gone.pid} has stopped for this one, which cannot start: it broke`,
    next: expect.stringMatching(/^Mend it\. Until `social-harness daemon` has started, nobody serves/),
  });
  expect(await ended(gone)).toBe(0);
});

verifies("RUN-261", "where a third one came first, the failure does not say that nobody serves", async () => {
  const state = join(root, "ina");
  await joined(state, "ina-agent");
  const gone = await startDaemon(state);
  const start = async (): Promise<never> => {
    await startDaemon(state);
    throw failed("state-held", "another one has it", "Leave it.");
  };
  const output = Output.create(true);
  const folder = StateFolder.at(state);
  await expect(Replacing.replace({ output, folder, start }, () => Promise.resolve())).rejects.toMatchObject({
    message: `the daemon with pid ${gone.pid} has stopped for this one, which cannot start: another one has it`,
    next: "Leave it.",
  });
});

verifies(
  "RUN-266",
  "one that stands still is named by commands, with what to do",
  async () => {
    const state = join(root, "jan");
    await joined(state, "jan-agent");
    const still = await startDaemon(state);
    process.kill(still.pid, "SIGSTOP");
    // Over MCP and over the owner's paths.
    for (const words of [["status"], ["evidence"]]) {
      const answer = await runHere([...words, "--state", state, "--json"]);
      const { reason, message, next } = failureOf(answer);
      expect([answer.code, reason]).toEqual([3, "daemon-unreachable"]);
      expect(message).toBe(`the daemon of ${state} runs with pid ${still.pid} and does not answer`);
      expect(next).toContain(`\`social-harness daemon --replace --state ${state}\``);
      expect(next).toContain(`kill -9 ${still.pid}`);
    }
    await still.stop("SIGKILL");
    const gone = await runHere(["status", "--state", state, "--json"]);
    expect(failureOf(gone).reason).toBe("daemon-not-running");
  },
  120_000,
);

verifies("RUN-269", "a port that another endpoint has is told with its pid and folder", async () => {
  const [kim, lea] = ["kim", "lea"].map((name) => join(root, name)) as [string, string];
  for (const state of [kim, lea]) await joined(state, `${state.split("/").at(-1)}-agent`);
  const first = await startDaemon(kim);
  const { port } = new URL(first.ready["mcpUrl"] as string);
  const refused = await runHere(["daemon", "--state", lea, "--port", port, "--json"]);
  expect(failureOf(refused)).toMatchObject({
    reason: "cannot-listen",
    message: `port ${port} is used by the daemon with pid ${first.pid}, of ${kim}`,
  });
  expect(await first.stop()).toBe(0);
});

verifies("RUN-118", "one that does not stop is left alone, and the new one says so", async () => {
  const state = join(root, "fay");
  await joined(state, "fay-agent");
  const still = await startDaemon(state);
  process.kill(still.pid, "SIGSTOP");
  const refused = await run(replace(state));
  expect([refused.code, failureOf(refused).reason]).toEqual([1, "still-held"]);
  expect(failureOf(refused).next).toContain(`kill -9 ${still.pid}`);
  process.kill(still.pid, "SIGCONT");
  // What it was asked it does now.
  expect(await still.stop()).toBe(0);
});

verifies("RUN-119", "C54 a pid that has become another program's is never signalled", async () => {
  const state = join(root, "gus");
  await joined(state, "gus-agent");
  const killed = await startDaemon(state);
  await killed.stop("SIGKILL");
  const innocent = spawn("sleep", ["600"], { stdio: "ignore" });
  onTestFinished(() => void innocent.kill("SIGKILL"));
  await once(innocent, "spawn");
  // Births count by the hundredth of a second, and the next daemon's is to be another one.
  await sleep(50);
  const lock = new DatabaseSync(join(state, "lock"));
  lock.prepare("UPDATE holder SET pid = ?").run(innocent.pid as number);
  // The folder is free: it is taken and nobody is asked anything.
  const next = await serve(replace(state));
  await next.stop("SIGKILL");
  // Somebody holds it who has not said who: the row still names the innocent one, with the birth of a dead one.
  lock.prepare("UPDATE holder SET pid = ?").run(innocent.pid as number);
  lock.exec("BEGIN IMMEDIATE");
  const refused = await run(replace(state));
  lock.close();
  // Refused by whichever look comes first; what counts is that nobody was asked to stop.
  expect(refused.code).toBe(1);
  expect(["holder-unseen", "state-held"]).toContain(failureOf(refused).reason);
  expect([innocent.exitCode, innocent.signalCode]).toEqual([null, null]);
});
