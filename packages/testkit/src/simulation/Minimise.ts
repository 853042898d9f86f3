// A failing run made small: faults that it does not need are taken away, then steps, as long as the same invariant breaks.
// Every attempt is a run of its own from the same seed, and their number is bounded, so the result is always the same.

import { type Environment, faults, type ScenarioName } from "./Scenarios.ts";
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

interface Attempt {
  readonly change: Partial<Environment>;
  readonly omit: ReadonlySet<number>;
}

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

export const minimise = (seed: number, options: MinimiseOptions = {}): Minimised | null => {
  const { scenario = null, runsMax = 300 } = options;
  const failure = failureOf(seed, options);
  if (failure === null) return null;
  let runs = 1;
  let reached = 0;
  const fails = ({ change, omit }: Attempt): boolean => {
    runs++;
    reached = 0;
    try {
      simulate(seed, change, { scenario, omit, onStep: (step) => (reached = step) });
      return false;
    } catch (error) {
      return invariantOf(error) === failure.invariant;
    }
  };
  let best: Attempt = { change: options.change ?? {}, omit: new Set() };
  const adopt = (attempt: Attempt): boolean => {
    if (runs >= runsMax || !fails(attempt)) return false;
    best = attempt;
    return true;
  };
  const { environment } = drawn(seed, scenario);
  for (const fault of faults)
    if (environment[fault] !== 0) adopt({ ...best, change: { ...best.change, [fault]: 0 } });
  // Whatever came after the last step that was reached plays no part.
  fails(best);
  let kept = Array.from({ length: Math.min(environment.steps, reached + 1) }, (_, step) => step);
  const omitting = (left: ReadonlyArray<number>): Attempt => {
    const wanted = new Set(left);
    const omit = new Set(
      Array.from({ length: environment.steps }, (_, step) => step).filter((s) => !wanted.has(s)),
    );
    return { ...best, omit };
  };
  if (!adopt(omitting(kept))) kept = Array.from({ length: environment.steps }, (_, step) => step);
  for (let size = Math.ceil(kept.length / 2); size >= 1 && runs < runsMax; size = Math.floor(size / 2)) {
    for (let at = kept.length - size; at > -size && runs < runsMax; at -= size) {
      const left = [...kept.slice(0, Math.max(0, at)), ...kept.slice(at + size)];
      if (adopt(omitting(left))) kept = left;
    }
  }
  const lines: Array<string> = [];
  let { message } = failure;
  try {
    simulate(seed, best.change, { scenario, omit: best.omit, print: (line) => lines.push(line) });
  } catch (error) {
    message = messageOf(error);
  }
  return {
    ...failure,
    message,
    environment: { ...environment, ...best.change },
    steps: kept.length,
    runs,
    lines,
  };
};
