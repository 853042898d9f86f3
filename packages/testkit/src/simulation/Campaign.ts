// Many seeds: what they came to, which cells of the transition table they reached, and which of them failed. Reports of parts
// add up to the report of the whole, whichever process ran them.

import * as Coverage from "./Coverage.ts";
import { failureOf, type Failure } from "./Minimise.ts";
import type { ScenarioName } from "./Scenarios.ts";
import { simulate } from "./Simulation.ts";

export interface Report {
  readonly seeds: number;
  readonly certified: number;
  /** Runs with real keys and sealing. */
  readonly real: number;
  readonly scenarios: { readonly [name: string]: number };
  readonly sizes: { readonly [n: string]: number };
  readonly cells: Coverage.Cells;
  readonly failures: ReadonlyArray<Failure>;
}

export interface Part {
  readonly first: number;
  readonly count: number;
  readonly scenario: ScenarioName | null;
}

export const nothing: Report = {
  seeds: 0,
  certified: 0,
  real: 0,
  scenarios: {},
  sizes: {},
  cells: {},
  failures: [],
};

export const joined = (left: Report, right: Report): Report => ({
  seeds: left.seeds + right.seeds,
  certified: left.certified + right.certified,
  real: left.real + right.real,
  scenarios: Coverage.added(left.scenarios, right.scenarios),
  sizes: Coverage.added(left.sizes, right.sizes),
  cells: Coverage.added(left.cells, right.cells),
  failures: [...left.failures, ...right.failures].sort((a, b) => a.seed - b.seed),
});

/** Runs seeds one after another. */
export const runPart = ({ first, count, scenario }: Part): Report => {
  const coverage = Coverage.createCoverage();
  let report = nothing;
  for (let seed = first; seed < first + count; seed++) {
    try {
      const outcome = simulate(seed, {}, { scenario, coverage });
      const { n, real } = outcome.environment;
      report = joined(report, {
        ...nothing,
        seeds: 1,
        certified: outcome.certified,
        real: real ? 1 : 0,
        scenarios: { [outcome.scenario]: 1 },
        sizes: { [n]: 1 },
      });
    } catch {
      const failure = failureOf(seed, { scenario });
      if (failure === null)
        throw new Error(`seed ${seed} failed once and then held: the run is not deterministic`);
      report = joined(report, { ...nothing, seeds: 1, failures: [failure] });
    }
  }
  return { ...report, cells: coverage.cells() };
};
