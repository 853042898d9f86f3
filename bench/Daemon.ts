// What a daemon is at rest: its memory when nothing happens, and how soon it is ready, with an empty store and with a
// thousand records whose signatures nobody has checked yet. Run from sources, and from the single file of `npm run bundle`,
// which is made for it. The limits are promises of the product in megabytes and seconds, the one exception to holding
// numbers only against what was measured beside them.

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Child from "../packages/cli/src/lab/Child.ts";
import { interruptible } from "../packages/cli/src/lab/Interruptible.ts";
import * as Lab from "../packages/cli/src/lab/Lab.ts";
import type { Line, Question } from "./Line.ts";
import * as StoredRecords from "./StoredRecords.ts";

const records = 1_000;
/** The best of them counts: no measurement beside it would tell how busy the machine was. */
const starts = 5;
/** After this a daemon has read, connected and collected what it will. */
const settleMs = 4_000;
const memoryMbMax = 160;
const readyMsMax = 1_500;
const bundleMbMax = 4;
const bundleMemoryMbMax = 100;
const bundleReadyMsMax = 500;

/** Resident memory in megabytes, as the system sees it. */
const residentMb = (pid: number): number =>
  Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1_024;

/** Of a build, or from sources. */
const daemonOf = (state: string, build: string | null): Promise<Child.Child> =>
  Child.start(["daemon", "--state", state, "--port", "0", "--json"], build);

const idleMb = async (state: string, build: string | null): Promise<number> => {
  const idle = await daemonOf(state, build);
  await sleep(settleMs);
  const memoryMb = residentMb(idle.pid);
  await idle.stop();
  return memoryMb;
};

/** The quickest of some starts, in milliseconds. */
const startMs = async (state: string, build: string | null, before = (): void => {}): Promise<number> => {
  const took: Array<number> = [];
  for (let i = 0; i < starts; i++) {
    before();
    const started = performance.now();
    const child = await daemonOf(state, build);
    took.push(performance.now() - started);
    await child.stop();
  }
  return Math.min(...took);
};

const bundleIn = (folder: string): string => {
  execFileSync(process.execPath, [join(import.meta.dirname, "../tools/bundle.ts"), folder]);
  return join(folder, "social-harness.mjs");
};

/** A promise in megabytes or milliseconds. */
const promised = (name: string, value: number, limit: number, unit: "MB" | "ms"): Line => ({
  name,
  measured: { value, unit },
  against: { value: limit, unit, name: "promised" },
  target: { atMost: 1 },
});

const answer = (): Promise<ReadonlyArray<Line>> =>
  interruptible(async (cleanUp) => {
    const names = ["ada-agent", "bob-agent"] as ReadonlyArray<string> as ReadonlyArray<AgentName>;
    const lab = await Lab.open(names, cleanUp);
    const [ada, bob] = lab.agents as readonly [Lab.LabAgent, Lab.LabAgent];
    await ada.stop();
    await bob.stop();
    const bundle = bundleIn(join(lab.folder, "bundle"));
    const memory = { sources: await idleMb(ada.state, null), bundle: await idleMb(ada.state, bundle) };
    const empty = { sources: await startMs(ada.state, null), bundle: await startMs(ada.state, bundle) };
    StoredRecords.fill(ada, bob, records);
    const full = await startMs(ada.state, null, () => StoredRecords.forgetCheck(ada));
    const megabytes = statSync(bundle).size / 1_048_576;
    return [
      promised("memory of an idle daemon", memory.sources, memoryMbMax, "MB"),
      promised("ready with an empty store", empty.sources, readyMsMax, "ms"),
      promised(`ready with ${records} unchecked records`, full, readyMsMax, "ms"),
      promised("the single file", megabytes, bundleMbMax, "MB"),
      promised("memory of an idle daemon from it", memory.bundle, bundleMemoryMbMax, "MB"),
      promised("ready with an empty store from it", empty.bundle, bundleReadyMsMax, "ms"),
    ];
  });

export const daemon: Question = {
  name: "daemon",
  asks: "What does a daemon need to be there?",
  answer,
};
