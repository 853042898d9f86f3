// Runs seeds until an oracle objects. Started in a copy of the sources, it runs the simulator of that copy, changed as it is.
// An error that is no oracle's word does not count: a bug that only breaks the program is no bug of the protocol.

import { fileURLToPath } from "node:url";
import { failureOf } from "../simulation/Minimise.ts";
import type { ScenarioName } from "../simulation/Scenarios.ts";
import { isDefect } from "../simulation/Violation.ts";

export interface SearchOptions {
  readonly first: number;
  readonly count: number;
  readonly scenario: ScenarioName | null;
}

export interface Sighting {
  readonly seed: number;
  /** Which oracle objected, and in which words. */
  readonly invariant: string;
  readonly message: string;
}

export interface Searched {
  readonly sighting: Sighting | null;
  /** Seeds that were run. */
  readonly seeds: number;
  /** Seeds that ended with another error than an oracle's, and the first of these errors. */
  readonly defects: number;
  readonly defect: string | null;
}

export const search = ({ first, count, scenario }: SearchOptions): Searched => {
  let defects = 0;
  let defect: string | null = null;
  for (let seeds = 1; seeds <= count; seeds++) {
    const failure = failureOf(first + seeds - 1, { scenario });
    if (failure === null) continue;
    const { seed, invariant, message } = failure;
    if (!isDefect(invariant)) return { sighting: { seed, invariant, message }, seeds, defects, defect };
    defects += 1;
    defect ??= message;
  }
  return { sighting: null, seeds: count, defects, defect };
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(JSON.stringify(search(JSON.parse(process.argv[2] ?? "null") as SearchOptions)));
