// `daemon --replace`: one daemon in the place of another, and who is never signalled.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, run, serve } from "../Binary.ts";
import { joined, root, startDaemon } from "../Town.ts";

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

verifies("RUN-118", "a new daemon asks the old one to stop and takes its place", async () => {
  const state = join(root, "eve");
  await joined(state, "eve-agent");
  const alone = await serve(replace(state));
  const second = await serve(replace(state));
  expect(await alone.stop()).toBe(0);
  expect(pidIn(state)).toBe(second.pid);
  expect(await second.stop()).toBe(0);
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
