// Whose daemon a command speaks with, where endpoint.json is older than what runs now.

import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import * as ProcessBirth from "@social-harness/endpoint/state/ProcessBirth";
import { DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { beforeAll, expect, onTestFinished } from "vitest";
import { failureOf, lastJson, main, run, runHere, serve } from "../Binary.ts";
import { freePort } from "../Ports.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const eve = join(root, "eve");

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  await joined(eve, "eve-agent");
  await startDaemon(eve);
});

interface Written {
  readonly pid: number;
  readonly born: string | null;
  readonly secret: string;
  readonly mcpUrl: string;
}

const writtenIn = (state: string): Written =>
  JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Written;

const rewrite = (state: string, change: Partial<Written>): void =>
  writeFileSync(join(state, "endpoint.json"), JSON.stringify({ ...writtenIn(state), ...change }));

const portOf = (state: string): string => new URL(writtenIn(state).mcpUrl).port;

/** A daemon of the folder that was killed, and whose pid is a living program's by now. */
const killed = async (state: string, ...flags: ReadonlyArray<string>): Promise<void> => {
  const daemon = await serve(["daemon", "--state", state, "--port", "0", ...flags, "--json"]);
  await daemon.stop("SIGKILL");
  rewrite(state, { pid: process.pid });
};

/** Another program at that port, and the head of each request that it gets. */
const listenAt = async (port: string, answer = "{}"): Promise<ReadonlyArray<string>> => {
  const heads: Array<string> = [];
  const server = createServer((incoming, outgoing) => {
    heads.push(`${incoming.method} ${incoming.url} ${incoming.headers.authorization ?? "nobody"}`);
    outgoing.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  await once(server.listen(Number(port), "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return heads;
};

/** Somebody holds the folder's lock who cannot be seen: what the row says is a dead one's. Returns how they let go. */
const holdUnseen = (state: string): (() => void) => {
  const lock = new DatabaseSync(join(state, "lock"));
  lock.exec("UPDATE holder SET pid = 4000000, born = 'elsewhere'; BEGIN IMMEDIATE");
  return () => lock.close();
};

const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["status"],
  ["agents"],
  ["send", "agent:eve-agent", "this is ada speaking"],
  ["inbox"],
  ["ack", DeliveryToken.fromBytes(Buffer.alloc(32))],
  ["history"],
  ["history", "agent:eve-agent"],
  ["export", "agent:eve-agent"],
  ["round", "wish", "agent:eve-agent"],
  ["evidence"],
  ["hold", "list"],
  ["webhook", "status"],
  ["webhook", "attempts"],
  ["webhook", "test"],
];

verifies(
  ["RUN-300", "RUN-301"],
  "C54: after a kill nobody on the old port is asked anything, though the old pid lives again",
  async () => {
    for (const mode of ["trusted-local", "credentials"]) {
      await killed(ada, "--mode", mode);
      // Of the very process that has the pid now: only the kernel's lock tells that it is not the daemon.
      rewrite(ada, { born: ProcessBirth.of(process.pid) });
      const heads = await listenAt(portOf(ada));
      for (const command of commands) {
        const ended = await runHere([...command, "--state", ada, "--json"]);
        expect([command, ended.code]).toEqual([command, 3]);
        expect(failureOf(ended)).toMatchObject({ reason: "daemon-not-running" });
        expect(failureOf(ended).message).toContain("ended without a goodbye");
      }
      expect(lastJson(await runHere(["doctor", "--state", ada, "--json"]))).toMatchObject({
        broken: "daemon",
      });
      expect(heads).toEqual([]);
    }
  },
);

verifies(
  "RUN-301",
  "`config check` and `doctor` show no token to another program at the address of a daemon that runs",
  async () => {
    const written = writtenIn(eve);
    const port = await freePort();
    const heads = await listenAt(`${port}`);
    onTestFinished(() => rewrite(eve, written));
    rewrite(eve, { mcpUrl: `http://127.0.0.1:${port}/mcp` });
    await runHere(["config", "check", "--state", eve, "--json"]);
    await runHere(["doctor", "--state", eve, "--json"]);
    expect(heads.length).toBeGreaterThan(0);
    for (const head of heads) expect(head).toMatch(/^GET \/challenge\/[\w-]{43} nobody$/);
  },
);

verifies(
  "RUN-301",
  "where the holder cannot be seen, another program at the address is asked for a proof and told nothing else",
  async () => {
    for (const mode of ["trusted-local", "credentials"]) {
      await killed(ada, "--mode", mode);
      const letGo = holdUnseen(ada);
      const heads = await listenAt(portOf(ada), "x".repeat(100_000));
      for (const command of commands) {
        const ended = await runHere([...command, "--state", ada, "--json"]);
        expect([command, ended.code, failureOf(ended).reason]).toEqual([command, 3, "other-program"]);
      }
      await runHere(["doctor", "--state", ada, "--json"]);
      expect(heads).toHaveLength(commands.length + 1);
      for (const head of heads) expect(head).toMatch(/^GET \/challenge\/[\w-]{43} nobody$/);
      expect(new Set(heads).size).toBe(heads.length);
      const { secret } = writtenIn(ada);
      expect(heads.join("\n")).not.toContain(secret);
      letGo();
    }
  },
);

verifies(
  "RUN-301",
  "C54: another endpoint's daemon on the old port posts nothing and shows nothing in this one's name",
  async () => {
    await killed(ada);
    const port = portOf(ada);
    const bobs = await serve(["daemon", "--state", bob, "--port", port, "--json"]);
    onTestFinished(async () => void (await bobs.stop()));
    for (const isUnseen of [false, true]) {
      if (isUnseen) onTestFinished(holdUnseen(ada));
      for (const command of commands) {
        const ended = await runHere([...command, "--state", ada, "--json"]);
        const reason = isUnseen ? "other-program" : "daemon-not-running";
        expect([command, ended.code, failureOf(ended).reason]).toEqual([command, 3, reason]);
      }
    }
    expect(await json("history", "--state", bob)).toMatchObject({ addresses: [] });
    expect(await json("inbox", "--state", eve)).toMatchObject({ items: [] });
  },
);

verifies(
  "RUN-300",
  "a file of an earlier daemon is not taken for that of the one that starts now",
  async () => {
    await killed(ada);
    const heads = await listenAt(portOf(ada));
    const lock = new DatabaseSync(join(ada, "lock"));
    onTestFinished(() => lock.close());
    const born = ProcessBirth.of(process.ppid);
    lock.prepare("UPDATE holder SET pid = ?, born = ?").run(process.ppid, born);
    lock.exec("BEGIN IMMEDIATE");
    // Another pid, and the same pid in a container that was started anew.
    for (const change of [
      { pid: process.pid, born },
      { pid: process.ppid, born: "an earlier boot" },
    ]) {
      rewrite(ada, change);
      const ended = await runHere(["status", "--state", ada, "--json"]);
      expect([ended.code, failureOf(ended).reason]).toEqual([3, "daemon-not-ready"]);
      expect(failureOf(ended).message).toContain(`pid ${process.ppid} holds`);
    }
    expect(heads).toEqual([]);
  },
);

verifies("RUN-301", "a daemon that cannot be seen is used once it has proven itself", async () => {
  const daemon = await startDaemon(bob);
  const status = ["status", "--state", bob, "--json"];
  const inOtherPids = spawnSync(
    "unshare",
    ["--pid", "--fork", "--mount-proc", process.execPath, main, ...status],
    { encoding: "utf8" },
  );
  // Where that is not allowed, the lock that is not there stands for it alone.
  if (inOtherPids.status !== 1 || !inOtherPids.stderr.startsWith("unshare")) {
    expect([inOtherPids.status, inOtherPids.stderr]).toEqual([0, ""]);
    expect(JSON.parse(inOtherPids.stdout)).toMatchObject({ kind: "active" });
  }
  rmSync(join(bob, "lock"));
  expect(lastJson(await run(status))).toMatchObject({ kind: "active" });
  expect(await daemon.stop()).toBe(0);
});

verifies("RUN-301", "so is one on a disk that takes no change", async ({ skip }) => {
  const state = join(root, "fay");
  const mounted = join(root, "readonly");
  await joined(state, "fay-agent");
  mkdirSync(mounted);
  try {
    execFileSync("mount", ["--bind", state, mounted], { stdio: "pipe" });
  } catch {
    return skip("a folder cannot be mounted here: that takes root and the right to mount");
  }
  try {
    execFileSync("mount", ["--options", "remount,bind,ro", mounted], { stdio: "pipe" });
    const daemon = await startDaemon(state);
    expect(await json("status", "--state", mounted)).toMatchObject({ kind: "active" });
    expect(await daemon.stop()).toBe(0);
  } finally {
    execFileSync("umount", ["--lazy", mounted], { stdio: "pipe" });
  }
});

verifies(
  "RUN-302",
  "a daemon whose folder was moved away leaves the file of the one in its place",
  async () => {
    const state = join(root, "moved");
    await joined(state, "gil-agent");
    const old = await startDaemon(state);
    execFileSync("mv", [state, `${state}.away`]);
    await joined(state, "hal-agent");
    const next = await startDaemon(state);
    expect(await old.stop()).toBe(0);
    expect(writtenIn(state).pid).toBe(next.pid);
    expect(await json("status", "--state", state)).toMatchObject({ agentCard: { agentName: "hal-agent" } });
    expect(await next.stop()).toBe(0);
    const stopped = await runHere(["status", "--state", state, "--json"]);
    expect(failureOf(stopped).message).toContain("no daemon runs");
  },
);
