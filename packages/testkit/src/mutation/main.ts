// `npm run mutants [-- --only NAME] [--seeds N] [--seed S] [--jobs J] [--json]`: breaks one rule of the protocol after the
// other and asks whether the simulator sees it. Prints which oracle objected, at which seed, after how many. Exits with 1
// when a bug goes unseen, or when the sources no longer have the text that it changes. With `--surface` the bugs are those
// of the endpoint's surface, and tests that are named for them have to see them.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { type Hunted, huntAll } from "./Hunt.ts";
import { problemsOf } from "./Mutant.ts";
import { mutants } from "./Mutants.ts";
import { readOriginal } from "./SourceCopy.ts";
import { surface } from "./Surface.ts";

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(2);
};

const countOf = (text: string, name: string): number => {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : fail(`--${name} takes a natural number`);
};

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    seeds: { type: "string" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string" },
    json: { type: "boolean", default: false },
    surface: { type: "boolean", default: false },
  },
});
const first = countOf(values.seed, "seed");
const seeds = values.seeds === undefined ? null : countOf(values.seeds, "seeds");
const jobs = Math.max(1, values.jobs === undefined ? availableParallelism() : countOf(values.jobs, "jobs"));
const { only, json } = values;
if (values.surface) {
  const complain = (line: string): void => void process.stderr.write(`${line}\n`);
  process.exit(await surface({ only, jobs, json, print, complain }));
}
const chosen = only === undefined ? mutants : mutants.filter(({ name }) => only.includes(name));
if (chosen.length === 0) fail(`no such mutant; there are ${mutants.map(({ name }) => name).join(", ")}`);

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
if (!values.json) print(`${chosen.length} mutants, seeds from ${first}, ${jobs} at once`);
const hunted = await huntAll(chosen, {
  first,
  seeds,
  jobs,
  onHunted: (result) => {
    if (!values.json) print(row(result));
  },
});
const seconds = (performance.now() - started) / 1_000;
const escaped = hunted.filter(({ caught }) => !caught);
if (values.json) print(JSON.stringify({ first, seconds, mutants: hunted }));
else print(`\n${hunted.length - escaped.length} of ${hunted.length} caught in ${seconds.toFixed(0)} s`);
for (const { mutant } of escaped) if (!values.json) print(`not caught: ${mutant.name}. ${mutant.why}`);
process.exitCode = escaped.length === 0 ? 0 : 1;
