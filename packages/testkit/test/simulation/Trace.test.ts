// The same seed gives the same run, line for line, whatever it goes through and with whatever keys.

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Environment } from "@social-harness/testkit/simulation/Environment";
import type { ScenarioName } from "@social-harness/testkit/simulation/Scenarios";
import { scenarioNames } from "@social-harness/testkit/simulation/Scenarios";
import { simulate } from "@social-harness/testkit/simulation/Simulation";
import { brokenText } from "@social-harness/testkit/simulation/Trace";
import { Violation } from "@social-harness/testkit/simulation/Violation";

const linesOf = (
  seed: number,
  scenario: ScenarioName,
  change: Partial<Environment> = {},
): ReadonlyArray<string> => {
  const lines: Array<string> = [];
  try {
    simulate(seed, change, { scenario, print: (line) => lines.push(line) });
  } catch (error) {
    lines.push(String(error));
  }
  return lines;
};

const digestOf = (lines: ReadonlyArray<string>): string =>
  createHash("sha256").update(lines.join("\n")).digest("hex");

describe("the same seed gives the same trace, byte for byte", () => {
  for (const scenario of scenarioNames) {
    const change = scenario === "large" ? { n: 10, steps: 100 } : {};
    verifies("HIS-37", `in ${scenario}`, () => {
      const lines = linesOf(77, scenario, change);
      expect(lines.length).toBeGreaterThan(20);
      expect(digestOf(linesOf(77, scenario, change))).toBe(digestOf(lines));
    });
  }

  verifies("HIS-37", "with real keys and sealing, selectively too", () => {
    const change = { real: true, steps: 80 };
    const lines = linesOf(5, "liars", change);
    expect(lines.some((line) => line.includes("signs action"))).toBe(true);
    expect(digestOf(linesOf(5, "liars", change))).toBe(digestOf(lines));
  });
});

describe("a trace", () => {
  test("names records once in full, and says who did what", () => {
    const lines = linesOf(1, "clocks", { n: 2, steps: 40, postsPerAuthor: 1, authors: 1 });
    const text = lines.join("\n");
    expect(text).toMatch(/0 <- 0 lane 1: proposal R\d+/);
    expect(text).toMatch(/0 keeps R\d+ \(by 0, height 1 on R\d+, A\d+\)/);
    expect(text).toMatch(/1 signs durability R\d+ in round 0 under A\d+/);
    expect(text).toMatch(/0 intent ends certified/);
    expect(text).toContain("* the storm is over");
  });

  verifies("HIS-37", "begins with the run and how to see it again, and ends with its verdict", () => {
    const whole = linesOf(66, "liars");
    expect(whole[0]).toMatch(
      /^seed 66, scenario liars, members 0 to (\d+), liars: [\d ]*\1; again: npm run sim -- --trace --seed 66 --scenario liars$/,
    );
    expect(whole.at(-1)).toMatch(/^holds: \d+ records certified$/);
    expect(whole.slice(1, -1).every((line) => /^ *\d+ +-?\d+\.\ds  /.test(line))).toBe(true);
    const honest = linesOf(1, "clocks", { n: 2, byzantine: 0, steps: 5 });
    expect(honest[0]).toContain("members 0 to 1, no liars;");
    expect(honest[0]).toMatch(
      /, of which this is a part: 0 steps left out, \{"n":2,"byzantine":0,"steps":5\}$/,
    );
  });

  test("of a run that breaks says what broke, and of a broken program that no oracle spoke", () => {
    expect(brokenText(new Violation("I1: two records at height 3"))).toBe(
      "BROKEN: I1: two records at height 3",
    );
    expect(brokenText(new TypeError("x is undefined"))).toBe("BROKEN: no oracle's word, x is undefined");
  });

  test("differs between seeds", () => {
    expect(digestOf(linesOf(1, "weather"))).not.toBe(digestOf(linesOf(2, "weather")));
  });
});
