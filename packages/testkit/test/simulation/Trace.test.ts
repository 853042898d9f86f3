// The same seed gives the same run, line for line, whatever it goes through and with whatever keys.

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Environment } from "@social-harness/testkit/simulation/Environment";
import type { ScenarioName } from "@social-harness/testkit/simulation/Scenarios";
import { scenarioNames } from "@social-harness/testkit/simulation/Scenarios";
import { simulate } from "@social-harness/testkit/simulation/Simulation";

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

  test("differs between seeds", () => {
    expect(digestOf(linesOf(1, "weather"))).not.toBe(digestOf(linesOf(2, "weather")));
  });
});
