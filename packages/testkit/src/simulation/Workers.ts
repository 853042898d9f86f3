// Parts of a campaign in processes of their own. A seed's run depends on nothing but the seed, so who runs it makes no
// difference; parts are handed out one by one because some seeds take a hundred times as long as others.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { joined, nothing, type Part, type Report, runPart } from "./Campaign.ts";

/** Seeds that a process runs between two reports. */
const partSeeds = 50;

export const partsOf = ({ first, count, scenario }: Part): ReadonlyArray<Part> =>
  Array.from({ length: Math.ceil(count / partSeeds) }, (_, i) => ({
    first: first + i * partSeeds,
    count: Math.min(partSeeds, count - i * partSeeds),
    scenario,
  }));

/** Runs a campaign in `jobs` processes. `onReport` sees each part's report as it comes. */
export const runInJobs = async (
  whole: Part,
  jobs: number,
  onReport: (report: Report) => void,
): Promise<Report> => {
  const waiting = [...partsOf(whole)];
  let total = nothing;
  const take = (report: Report): void => {
    total = joined(total, report);
    onReport(report);
  };
  if (jobs === 1) {
    for (const part of waiting) take(runPart(part));
    return total;
  }
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = fork(fileURLToPath(import.meta.url), ["worker"]);
      const next = (): void => {
        const part = waiting.shift();
        if (part === undefined) worker.disconnect();
        else worker.send(part);
      };
      worker.on("message", (report) => {
        take(report as Report);
        next();
      });
      worker.on("error", reject);
      worker.on("exit", (code) =>
        code === 0 ? resolve() : reject(new Error("a simulation process ended early")),
      );
      next();
    });
  await Promise.all(Array.from({ length: Math.min(jobs, waiting.length) }, work));
  return total;
};

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === "worker") {
  process.on("message", (part) => process.send?.(runPart(part as Part)));
}
