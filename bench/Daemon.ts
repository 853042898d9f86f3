// What a daemon is at rest: its memory when nothing happens, and how soon it is ready, with an empty store and with a
// thousand records whose signatures nobody has checked yet. Run from sources. The limits are promises of the product in
// megabytes and seconds, the one exception to holding numbers only against what was measured beside them.

import { execFileSync } from "node:child_process";
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

/** Resident memory in megabytes, as the system sees it. */
const residentMb = (pid: number): number =>
  Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1_024;

const daemonOf = (state: string): Promise<Child.Child> =>
  Child.start(["daemon", "--state", state, "--port", "0", "--json"]);

const startMs = async (state: string): Promise<number> => {
  const started = performance.now();
  const child = await daemonOf(state);
  const tookMs = performance.now() - started;
  await child.stop();
  return tookMs;
};

const answer = (): Promise<ReadonlyArray<Line>> =>
  interruptible(async (cleanUp) => {
    const names = ["ada-agent", "bob-agent"] as ReadonlyArray<string> as ReadonlyArray<AgentName>;
    const lab = await Lab.open(names, cleanUp);
    const [ada, bob] = lab.agents as readonly [Lab.LabAgent, Lab.LabAgent];
    await ada.stop();
    await bob.stop();
    const idle = await daemonOf(ada.state);
    await sleep(settleMs);
    const memoryMb = residentMb(idle.pid);
    await idle.stop();
    const empty: Array<number> = [];
    for (let i = 0; i < starts; i++) empty.push(await startMs(ada.state));
    StoredRecords.fill(ada, bob, records);
    const full: Array<number> = [];
    for (let i = 0; i < starts; i++) {
      StoredRecords.forgetCheck(ada);
      full.push(await startMs(ada.state));
    }
    const limit = { value: readyMsMax, unit: "ms", name: "promised" };
    return [
      {
        name: "memory of an idle daemon",
        measured: { value: memoryMb, unit: "MB" },
        against: { value: memoryMbMax, unit: "MB", name: "promised" },
        target: { atMost: 1 },
      },
      {
        name: "ready with an empty store",
        measured: { value: Math.min(...empty), unit: "ms" },
        against: limit,
        target: { atMost: 1 },
      },
      {
        name: `ready with ${records} unchecked records`,
        measured: { value: Math.min(...full), unit: "ms" },
        against: limit,
        target: { atMost: 1 },
      },
    ];
  });

export const daemon: Question = {
  name: "daemon",
  asks: "What does a daemon need to be there?",
  answer,
};
