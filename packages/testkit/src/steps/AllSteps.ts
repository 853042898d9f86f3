// What `npm run faults -- --steps` does: every phase, or those that were asked for, one line each, and a line of counts.

import { startNetwork } from "../network/Network.ts";
import type { FaultyDisk } from "../storage/FaultyDisk.ts";
import { phases } from "./Phases.ts";
import * as Steps from "./Steps.ts";

export interface AllStepsOptions {
  readonly disk: FaultyDisk;
  /** Everything is in here; whoever gave it removes it. */
  readonly folder: string;
  /** None for all. */
  readonly only: ReadonlyArray<string>;
  readonly say: (line: string) => void;
}

/** `start-after-kill   31 steps, 31 killed, ok, 40 s (12 pwrite64, 9 fdatasync, ...)` */
const lineOf = ({ phase, steps, killed, calls, problems }: Steps.Report, seconds: number): string => {
  const outcome = problems.length === 0 ? "ok" : "FAILED";
  const kinds = Object.entries(calls)
    .toSorted(([, left], [, right]) => right - left)
    .map(([call, count]) => `${count} ${call}`);
  return `${phase.padEnd(18)}${steps} steps, ${killed} killed, ${outcome}, ${seconds} s (${kinds.join(", ")})`;
};

/** Resolves with whether all is well. */
export const run = async ({ disk, folder, only, say }: AllStepsOptions): Promise<boolean> => {
  const network = await startNetwork({ folder });
  const reports: Array<Steps.Report> = [];
  for (const phase of phases.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const begun = performance.now();
    const report = await Steps.run({ phase, network, disk, folder });
    reports.push(report);
    say(lineOf(report, Math.round((performance.now() - begun) / 1_000)));
    for (const problem of report.problems) say(`  BROKEN: ${problem}`);
  }
  await network.close();
  const ok = reports.every(({ problems }) => problems.length === 0);
  const sum = (of: (report: Steps.Report) => number): number =>
    reports.reduce((all, one) => all + of(one), 0);
  say(
    JSON.stringify({
      ok,
      phases: reports.length,
      steps: sum((one) => one.steps),
      killed: sum((one) => one.killed),
    }),
  );
  return ok;
};
