// A failing run made small: faults that it does not need are taken away, then steps, as long as the same invariant breaks.
// Every attempt is a run of its own from the same seed, and their number is bounded, so the result is always the same.

import { type Environment, faults } from "./Environment.ts";
import type { ScenarioName } from "./Scenarios.ts";
import { drawn, simulate } from "./Simulation.ts";
import { invariantOf } from "./Violation.ts";

export interface Failure {
  readonly seed: number;
  readonly scenario: ScenarioName;
  readonly invariant: string;
  readonly message: string;
}

/** A failure, as few faults and steps as were found to bring it about, and its lines. */
export interface Minimised extends Failure {
  readonly environment: Environment;
  /** Steps of the storm that are left. */
  readonly steps: number;
  readonly runs: number;
  readonly lines: ReadonlyArray<string>;
}

export interface MinimiseOptions {
  readonly scenario?: ScenarioName | null;
  readonly change?: Partial<Environment>;
  readonly runsMax?: number;
}

/** What an attempt changes and which steps it takes. */
interface Attempt {
  readonly change: Partial<Environment>;
  readonly steps: ReadonlyArray<number>;
}

/** Attempts at one failure. A run of many members takes as long as several of few. */
const runsOfSmall = 300;
const runsOfLarge = 60;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Runs a seed once. Null when it holds. */
export const failureOf = (
  seed: number,
  { scenario = null, change = {} }: MinimiseOptions = {},
): Failure | null => {
  try {
    simulate(seed, change, { scenario });
    return null;
  } catch (error) {
    const invariant = invariantOf(error);
    return { seed, scenario: drawn(seed, scenario).scenario, invariant, message: messageOf(error) };
  }
};

/** Steps from 0 on that an attempt leaves out. */
const omitted = (count: number, { steps }: Attempt): ReadonlySet<number> => {
  const omit = new Set(Array.from({ length: count }, (_, step) => step));
  for (const step of steps) omit.delete(step);
  return omit;
};

/** Smaller and smaller parts of the steps, each to be left out from the end on. */
function* partsOf(left: () => ReadonlyArray<number>): Generator<ReadonlyArray<number>> {
  for (let size = Math.ceil(left().length / 2); size >= 1; size = Math.floor(size / 2))
    for (let at = left().length - size; at > -size; at -= size)
      yield [...left().slice(0, Math.max(0, at)), ...left().slice(at + size)];
}

export const minimise = (seed: number, options: MinimiseOptions = {}): Minimised | null => {
  const { scenario = null } = options;
  const failure = failureOf(seed, options);
  if (failure === null) return null;
  const { environment } = drawn(seed, scenario);
  const { steps: count, n } = { ...environment, ...options.change };
  const runsMax = options.runsMax ?? (n < 10 ? runsOfSmall : runsOfLarge);
  let runs = 1;
  let reached = count;
  let best: Attempt = {
    change: options.change ?? {},
    steps: Array.from({ length: count }, (_, step) => step),
  };

  const fails = (attempt: Attempt): boolean => {
    const how = { scenario, omit: omitted(count, attempt), onStep: (step: number) => (reached = step) };
    runs++;
    try {
      simulate(seed, attempt.change, how);
      return false;
    } catch (error) {
      return invariantOf(error) === failure.invariant;
    }
  };
  const adopt = (attempt: Attempt): void => {
    if (fails(attempt)) best = attempt;
  };

  for (const fault of faults)
    if (environment[fault] !== 0) adopt({ ...best, change: { ...best.change, [fault]: 0 } });
  // Whatever came after the last step that was reached plays no part.
  if (fails(best)) best = { ...best, steps: best.steps.filter((step) => step <= reached) };
  for (const steps of partsOf(() => best.steps)) {
    if (runs >= runsMax) break;
    adopt({ ...best, steps });
  }
  const lines: Array<string> = [];
  let { message } = failure;
  try {
    simulate(seed, best.change, { scenario, omit: omitted(count, best), print: (line) => lines.push(line) });
  } catch (error) {
    message = messageOf(error);
  }
  return {
    ...failure,
    message,
    environment: { ...environment, ...best.change },
    steps: best.steps.length,
    runs,
    lines,
  };
};
