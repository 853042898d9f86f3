// `npm run sim`: runs many seeds and prints seeds a second, the cells of the transition table that were reached, and of each
// failing seed a minimised trace; or prints every line of one seed. Exits with 1 when a seed fails, or when a run over all
// scenarios that is long enough leaves a cell unreached.

import { availableParallelism } from "node:os";
import * as ProgramOptions from "../ProgramOptions.ts";
import type { Report } from "./Campaign.ts";
import * as Coverage from "./Coverage.ts";
import { type Minimised, minimise } from "./Minimise.ts";
import { realEvery, type ScenarioName, scenarioNames } from "./Scenarios.ts";
import { simulate } from "./Simulation.ts";
import { runTight } from "./TightLimits.ts";
import { Violation } from "./Violation.ts";
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

const program = {
  command: "npm run sim",
  about:
    "Runs the conversation fold under every fault that it claims to bear, one run a seed, and says which seeds break what. " +
    "docs/simulation.md explains it all.",
  options: {
    seeds: ProgramOptions.wholeNumber("N", "how many seeds; 1,000 where it is left out", 1),
    seed: ProgramOptions.wholeNumber("S", "the first one; a fresh one where it is left out"),
    scenario: ProgramOptions.oneOf("NAME", "one scenario instead of all by their shares", scenarioNames),
    jobs: ProgramOptions.wholeNumber("J", "how many processes; one a core where it is left out", 1),
    trace: ProgramOptions.flag("every line of one seed's run, and what it came to"),
    json: ProgramOptions.flag("one JSON object instead of text"),
    tight: ProgramOptions.flag("the same with bounds as small as they can be, in a copy of the sources"),
  },
};
const { options } = ProgramOptions.take(program);
if (options.tight) process.exit(runTight(process.argv.slice(2).filter((argument) => argument !== "--tight")));
const scenario = options.scenario ?? null;
const first = options.seed ?? ProgramOptions.freshSeed(1_000_000_000);
const count = options.seeds ?? 1_000;
const jobs = options.jobs ?? availableParallelism();

/** One seed's lines. The trace ends with its verdict; only where no oracle spoke it, the program itself is broken. */
const printTrace = (): never => {
  try {
    simulate(first, {}, { scenario, print });
    process.exit(0);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    process.exit(1);
  }
};

if (options.trace && (options.json || options.jobs !== undefined || (options.seeds ?? 1) !== 1))
  ProgramOptions.refuse(program, "--trace shows one seed, as text: it goes with --seed and --scenario");
if (options.trace) printTrace();
const started = performance.now();
if (!options.json)
  print(`${count} seeds from ${first}, ${scenario ?? "all scenarios"}, in ${jobs} processes`);
const report = await runInJobs({ first, count, scenario }, jobs, ({ failures }) => {
  if (!options.json) for (const { seed, message } of failures) print(`seed ${seed}: ${message}`);
});
const seconds = (performance.now() - started) / 1_000;
const minimised = report.failures
  .slice(0, minimisedMax)
  .flatMap(({ seed }) => minimise(seed, { scenario }) ?? []);
const unreached = Coverage.unreached(report.cells);
const isFull = scenario === null && count >= fullSeeds;
if (options.json) print(JSON.stringify({ first, seconds, ...report, minimised, unreached }));
else {
  for (const failure of minimised) printFailure(scenario, failure);
  printReport(report, seconds);
  if (unreached.length > 0) print(`never reached: ${unreached.join(", ")}`);
}
if (report.failures.length > 0 || (isFull && unreached.length > 0)) process.exitCode = 1;
