// `npm run mutants`: breaks one rule of the protocol after the other and asks whether the simulator sees it. Prints which oracle objected, at which seed, after how many. Exits with 1
// when a bug goes unseen, or when the sources no longer have the text that it changes.

import { availableParallelism } from "node:os";
import * as ProgramOptions from "../ProgramOptions.ts";
import { type Hunted, huntAll } from "./Hunt.ts";
import { problemsOf } from "./Mutant.ts";
import { mutants } from "./Mutants.ts";
import { readOriginal } from "./SourceCopy.ts";

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const program = {
  command: "npm run mutants",
  about:
    "Breaks one rule of the protocol after the other in a copy of the sources, and asks whether the simulator sees it. " +
    "docs/simulation.md explains it all.",
  options: {
    only: ProgramOptions.someOf(
      "NAME",
      "this one, and those that further --only name; a wrong name lists them all",
      mutants.map(({ name }) => name),
    ),
    seeds: ProgramOptions.wholeNumber("N", "seeds for each; as many as it states where it is left out", 1),
    seed: ProgramOptions.wholeNumber("S", "the first one; 1 where it is left out"),
    jobs: ProgramOptions.wholeNumber("J", "how many at once; one a core where it is left out", 1),
    json: ProgramOptions.flag("one JSON object instead of text"),
  },
};
const { options } = ProgramOptions.take(program);
const first = options.seed ?? 1;
const seeds = options.seeds ?? null;
const jobs = options.jobs ?? availableParallelism();
const { only } = options;
const chosen = only.length === 0 ? mutants : mutants.filter(({ name }) => only.includes(name));

const rotten = mutants.flatMap((mutant) => problemsOf(mutant, readOriginal));
for (const problem of rotten) process.stderr.write(`${problem}\n`);
if (rotten.length > 0) process.exit(1);

const nameWidth = Math.max(...chosen.map(({ name }) => name.length));
const row = ({ mutant, caught, escape, sighting, seeds: count, seconds }: Hunted): string => {
  const scenario = (mutant.scenario ?? "all").padEnd(12);
  const outcome = caught
    ? `seed ${String(sighting?.seed).padEnd(6)} after ${String(count).padStart(4)} of ${String(seeds ?? mutant.seeds).padEnd(5)} ${sighting?.message}`
    : `NOT CAUGHT: ${escape}`;
  return `${mutant.name.padEnd(nameWidth)}  ${scenario} ${seconds.toFixed(1).padStart(6)} s  ${outcome}`;
};

const started = performance.now();
if (!options.json) print(`${chosen.length} mutants, seeds from ${first}, ${jobs} at once`);
const hunted = await huntAll(chosen, {
  first,
  seeds,
  jobs,
  onHunted: (result) => {
    if (!options.json) print(row(result));
  },
});
const seconds = (performance.now() - started) / 1_000;
const escaped = hunted.filter(({ caught }) => !caught);
if (options.json) print(JSON.stringify({ first, seconds, mutants: hunted }));
else print(`\n${hunted.length - escaped.length} of ${hunted.length} caught in ${seconds.toFixed(0)} s`);
for (const { mutant } of escaped) if (!options.json) print(`not caught: ${mutant.name}. ${mutant.why}`);
process.exitCode = escaped.length === 0 ? 0 : 1;
