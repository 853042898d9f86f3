// `npm run sim -- --seeds 20000 [--seed S] [--scenario X] [--jobs J] [--json]`: runs that many seeds from S on, from a fresh
// one without it. Prints seeds a second, the cells of the transition table that were reached, and of each failing seed a
// minimised trace. `--trace` prints every line of one seed instead. Exits with 1 when a seed fails, or when a run over all
// scenarios that is long enough leaves a cell unreached.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import type { Report } from "./Campaign.ts";
import * as Coverage from "./Coverage.ts";
import { type Minimised, minimise } from "./Minimise.ts";
import { createRandom } from "./Random.ts";
import { isScenarioName, realEvery, type ScenarioName, scenarioNames } from "./Scenarios.ts";
import { simulate } from "./Simulation.ts";
import { runTight } from "./TightLimits.ts";
import { runInJobs } from "./Workers.ts";

/** A run over all scenarios of so many seeds must reach every cell. */
const fullSeeds = 2_000;
/** Failures that get a trace; the others are named. */
const minimisedMax = 3;
/** Lines of a trace that are printed from its beginning, and from its end. */
const linesEach = 200;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(2);
};

const countOf = (text: string | undefined, otherwise: number, name: string): number => {
  const count = text === undefined ? otherwise : Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : fail(`--${name} takes a natural number`);
};

const printFailure = (scenario: ScenarioName | null, failure: Minimised): void => {
  const { seed, message, runs, steps, lines, environment } = failure;
  print(`\nseed ${seed} (${failure.scenario}): ${message}`);
  print(
    `  again: npm run sim -- --seeds 1 --seed ${seed}${scenario === null ? "" : ` --scenario ${scenario}`}`,
  );
  print(`  minimised in ${runs} runs to ${steps} steps: ${JSON.stringify(environment)}`);
  const left = lines.length - 2 * linesEach;
  for (const line of left > 0 ? lines.slice(0, linesEach) : lines) print(line);
  if (left <= 0) return;
  print(`  ... ${left} lines ...`);
  for (const line of lines.slice(-linesEach)) print(line);
};

const printReport = (report: Report, seconds: number): void => {
  const list = (counts: { readonly [name: string]: number }): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  print(`\nscenarios: ${list(report.scenarios)}`);
  print(`members: ${list(report.sizes)}`);
  print(`with Ed25519 and sealing (one in ${realEvery}): ${report.real}`);
  print("events by phase:");
  for (const line of Coverage.printed(report.cells)) print(line);
  const rate = (report.seeds / seconds).toFixed(1);
  print(
    `\n${report.seeds} seeds in ${seconds.toFixed(1)} s (${rate} seeds/s), ${report.certified} records certified, ${report.failures.length} failed`,
  );
};

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    seed: { type: "string" },
    scenario: { type: "string" },
    jobs: { type: "string" },
    json: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    tight: { type: "boolean", default: false },
  },
});
if (values.tight) process.exit(runTight(process.argv.slice(2).filter((argument) => argument !== "--tight")));
const named = values.scenario ?? null;
const scenario =
  named === null || isScenarioName(named)
    ? named
    : fail(`no such scenario; there are ${scenarioNames.join(", ")}`);
const first = countOf(values.seed, createRandom(Date.now()).below(1_000_000_000), "seed");
const count = countOf(values.seeds, values.trace ? 1 : 1_000, "seeds");
const jobs = Math.max(1, countOf(values.jobs, availableParallelism(), "jobs"));

if (values.trace) {
  simulate(first, {}, { scenario, print });
  process.exit();
}
const started = performance.now();
if (!values.json) print(`${count} seeds from ${first}, ${scenario ?? "all scenarios"}, in ${jobs} processes`);
const report = await runInJobs({ first, count, scenario }, jobs, ({ failures }) => {
  if (!values.json) for (const { seed, message } of failures) print(`seed ${seed}: ${message}`);
});
const seconds = (performance.now() - started) / 1_000;
const minimised = report.failures
  .slice(0, minimisedMax)
  .flatMap(({ seed }) => minimise(seed, { scenario }) ?? []);
const unreached = Coverage.unreached(report.cells);
const isFull = scenario === null && count >= fullSeeds;
if (values.json) print(JSON.stringify({ first, seconds, ...report, minimised, unreached }));
else {
  for (const failure of minimised) printFailure(scenario, failure);
  printReport(report, seconds);
  if (unreached.length > 0) print(`never reached: ${unreached.join(", ")}`);
}
if (report.failures.length > 0 || (isFull && unreached.length > 0)) process.exitCode = 1;
