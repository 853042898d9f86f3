// `npm run mutants`: breaks one rule of the protocol after the other and asks whether the simulator sees it. Prints which oracle
// objected, at which seed, after how many. Exits with 1 when a bug goes unseen, or when the sources no longer have the text that
// it changes. With `--surface` the bugs are those of the endpoint's surface, and tests that are named for them have to see them.

import { availableParallelism } from "node:os";
import * as ProgramOptions from "../ProgramOptions.ts";
import { type Hunted, huntAll } from "./Hunt.ts";
import { problemsOf } from "./Mutant.ts";
import { mutants } from "./Mutants.ts";
import { readOriginal } from "./SourceCopy.ts";
import { surface } from "./Surface.ts";
import { surfaceMutants } from "./SurfaceMutants.ts";

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const complain = (line: string): void => {
  process.stderr.write(`${line}\n`);
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
      [...mutants, ...surfaceMutants].map(({ name }) => name),
    ),
    seeds: ProgramOptions.wholeNumber("N", "seeds for each; as many as it states where it is left out", 1),
    seed: ProgramOptions.wholeNumber("S", "the first one; 1 where it is left out"),
    jobs: ProgramOptions.wholeNumber("J", "how many at once; one a core where it is left out", 1),
    json: ProgramOptions.flag("one JSON object instead of text"),
    surface: ProgramOptions.flag("breaks the endpoint's surface instead, which named tests have to see"),
  },
};
const { options } = ProgramOptions.take(program);
const first = options.seed ?? 1;
const seeds = options.seeds ?? null;
const jobs = options.jobs ?? availableParallelism();
const { only, json } = options;
if (options.surface) process.exit(await surface({ only, jobs, json, print, complain }));
const chosen = only.length === 0 ? mutants : mutants.filter(({ name }) => only.includes(name));
if (chosen.length === 0) {
  complain("those are mutants of the surface: add --surface");
  process.exit(2);
}

const rotten = mutants.flatMap((mutant) => problemsOf(mutant, readOriginal));
rotten.forEach(complain);
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
if (!json) print(`${chosen.length} mutants, seeds from ${first}, ${jobs} at once`);
const hunted = await huntAll(chosen, {
  first,
  seeds,
  jobs,
  onHunted: (result) => {
    if (!json) print(row(result));
  },
});
const seconds = (performance.now() - started) / 1_000;
const escaped = hunted.filter(({ caught }) => !caught);
if (json) print(JSON.stringify({ first, seconds, mutants: hunted }));
else print(`\n${hunted.length - escaped.length} of ${hunted.length} caught in ${seconds.toFixed(0)} s`);
for (const { mutant } of escaped) if (!json) print(`not caught: ${mutant.name}. ${mutant.why}`);
process.exitCode = escaped.length === 0 ? 0 : 1;
