// A failing seed made small. What fails here is the protocol's own bound: two liars of four are more than it bears.

import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, minimise } from "@social-harness/testkit/simulation/Minimise";
import type { Environment } from "@social-harness/testkit/simulation/Environment";

/** More liars than f, in weather that has nothing to do with it. */
const tooMany: Partial<Environment> = {
  n: 4,
  byzantine: 2,
  authors: 2,
  mischief: 0.3,
  opened: true,
  absent: 0,
  real: false,
};

const failing = (): number => {
  for (let seed = 1; seed < 200; seed++)
    if (failureOf(seed, { scenario: "liars", change: tooMany })?.invariant === "I1") return seed;
  throw new Error("two liars of four never broke I1");
};

describe("a failure", () => {
  const seed = failing();
  const small = minimise(seed, { scenario: "liars", change: tooMany, runsMax: 150 });

  verifies("HIS-80", "of I1 is found where more members lie than the protocol bears", () => {
    expect(small?.invariant).toBe("I1");
    expect(small?.message).toMatch(/^I1: /);
  });

  test("is made small: few steps, and none of the faults that it does not need", () => {
    expect(small?.steps).toBeLessThan((small?.environment.steps ?? 0) / 3);
    expect(small?.environment.clockJump).toBe(0);
    expect(small?.environment.crash).toBe(0);
    expect(small?.environment.mischief).toBeGreaterThan(0);
    expect(small?.lines.length).toBeLessThan(200);
  });

  test("has a trace that says so, and ends with what broke", () => {
    expect(small?.lines[0]).toMatch(/, of which this is a part: \d+ steps left out, \{.*\}$/);
    expect(small?.lines.at(-1)).toBe(`BROKEN: ${small?.message}`);
  });

  test("is the same each time, byte for byte", () => {
    expect(minimise(seed, { scenario: "liars", change: tooMany, runsMax: 150 })).toEqual(small);
  });

  test("is null for a seed that holds", () => {
    const quiet = { mischief: 0, byzantine: 0, n: 4, authors: 2, absent: 0 };
    expect(minimise(1, { scenario: "clocks", change: quiet })).toBeNull();
  });
});
