// `node packages/testkit/src/simulation/main.ts --seeds 1000 --seed 1`: runs that many seeds from the first one on, and
// prints the ones that fail, each with what it went through. Without --seed it begins at a fresh one.

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRandom } from "./Random.ts";
import { simulate } from "./Simulation.ts";

/** Runs seeds and returns how many failed. */
export const runSeeds = (
  first: number,
  count: number,
  print: (line: string) => void,
  run: (seed: number) => { readonly certified: number } = simulate,
): number => {
  let failed = 0;
  let certified = 0;
  for (let seed = first; seed < first + count; seed++) {
    try {
      certified += run(seed).certified;
    } catch (error) {
      failed++;
      print(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  print(`${count} seeds from ${first}: ${certified} records certified, ${failed} failed`);
  return failed;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seeds: { type: "string" }, seed: { type: "string" } } });
  const fresh = createRandom(Date.now()).below(1_000_000_000);
  const failed = runSeeds(Number(values.seed ?? fresh), Number(values.seeds ?? 1_000), (line) => {
    process.stdout.write(`${line}\n`);
  });
  process.exitCode = failed === 0 ? 0 : 1;
}
