// Many seeds at once: reports add up, every scenario and every cell of the table is met, and real keys take their share.

import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { faultsOf } from "@social-harness/protocol/history/Quorum";
import { joined, nothing, runPart } from "@social-harness/testkit/simulation/Campaign";
import * as Coverage from "@social-harness/testkit/simulation/Coverage";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import { draw, scenarioNames, scenarioOf, scenarios } from "@social-harness/testkit/simulation/Scenarios";
import { drawn } from "@social-harness/testkit/simulation/Simulation";
import { partsOf } from "@social-harness/testkit/simulation/Workers";

const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i + 1);

describe("a campaign", () => {
  verifies("HIS-38", "reaches nearly every cell of the table within 150 seeds", () => {
    const { cells } = runPart({ first: 1, count: 150, scenario: null });
    expect(Coverage.unreached(cells).length).toBeLessThan(Coverage.allCells.length / 10);
  });

  test("adds up to the same report in parts", () => {
    const whole = runPart({ first: 40, count: 6, scenario: "weather" });
    const parts = [
      runPart({ first: 40, count: 2, scenario: "weather" }),
      runPart({ first: 42, count: 4, scenario: "weather" }),
    ];
    expect(parts.reduce(joined, nothing)).toEqual(whole);
    expect(whole.seeds).toBe(6);
    expect(whole.scenarios).toEqual({ weather: 6 });
  });

  test("is handed out in parts that leave no seed out and take none twice", () => {
    const parts = partsOf({ first: 7, count: 120, scenario: null });
    expect(parts.map(({ count }) => count).reduce((a, b) => a + b)).toBe(120);
    expect(parts.map(({ first }) => first)).toEqual([7, 57, 107]);
  });
});

describe("coverage", () => {
  test("knows every cell of the table, and prints each", () => {
    expect(Coverage.unreached({})).toEqual(Coverage.allCells);
    const all = Object.fromEntries(Coverage.allCells.map((cell) => [cell, 1]));
    expect(Coverage.unreached(all)).toEqual([]);
    const [cell] = Coverage.allCells;
    expect(Coverage.unreached({ ...all, [cell as string]: 0 })).toEqual([cell]);
    expect(Coverage.printed(all).length).toBe(1 + Coverage.allCells.length / 3);
  });
});

describe("scenarios", () => {
  test("take the shares that they state, which are percents", () => {
    expect(scenarioNames.reduce((sum, name) => sum + scenarios[name].weight, 0)).toBe(100);
    const counts = new Map<string, number>();
    const random = createRandom(1);
    for (let i = 0; i < 20_000; i++) {
      const name = scenarioOf(random);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const name of scenarioNames) {
      const share = (counts.get(name) ?? 0) / 200;
      expect(Math.abs(share - scenarios[name].weight)).toBeLessThan(1);
    }
  });

  for (const name of scenarioNames)
    test(`${name}: stays within what the protocol bears, at every seed`, () => {
      for (const seed of seeds(500)) {
        const { n, byzantine, absent, restored, authors } = draw(name, createRandom(seed));
        const bears = n < 4 ? 1 : faultsOf(n);
        expect(byzantine).toBeLessThanOrEqual(faultsOf(n));
        expect(byzantine + absent + restored).toBeLessThanOrEqual(bears);
        expect(authors).toBeLessThanOrEqual(n - byzantine);
      }
    });

  test("meet 2, 3, 4, 7, 10 and 32 members, full adversaries of four and of seven, and real keys", () => {
    const environments = seeds(20_000).map((seed) => drawn(seed).environment);
    const sizes = new Set(environments.map(({ n }) => n));
    expect([2, 3, 4, 7, 10, 32].filter((n) => !sizes.has(n))).toEqual([]);
    const full = (n: number): number =>
      environments.filter(
        ({ n: size, byzantine, nuisance }) => size === n && byzantine === faultsOf(n) && !nuisance,
      ).length;
    expect(full(4)).toBeGreaterThan(500);
    expect(full(7)).toBeGreaterThan(300);
    const real = environments.filter((environment) => environment.real).length;
    expect(real).toBeGreaterThan(150);
    expect(real).toBeLessThan(250);
  });
});
