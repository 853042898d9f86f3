// SIGKILL at random instants, on real processes under traffic: ten rounds of a fresh seed and a few of a fixed one. What
// broke is said by the oracles; a failure names its seed and keeps its folder with every disk and log.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as Plan from "@social-harness/testkit/faults/Plan";
import { run } from "@social-harness/testkit/faults/Run";
import { verifies } from "@social-harness/testkit/Verifies";

/** A bound for a run that hangs; on a quiet machine a round takes two to three seconds. */
const runMsMax = 600_000;

const holds = async (options: Plan.PlanOptions): Promise<void> => {
  const plan = Plan.make(options);
  const folder = mkdtempSync(join(tmpdir(), "social-harness-faults-"));
  process.stdout.write(`fault rounds: seed ${plan.seed}, services ${plan.services}, in ${folder}\n`);
  const { faults, kills, items, posts, recordsVerified } = await run({
    plan,
    folder,
    say: (line) => void process.stdout.write(`${line}\n`),
  });
  expect(faults, `seed ${plan.seed}; everything is kept in ${folder}`).toEqual([]);
  expect(kills).toBeGreaterThan(0);
  // Every post is at the host of each member but its author, and in the history of each of them.
  expect(items + posts).toBe(recordsVerified);
  rmSync(folder, { recursive: true, force: true });
};

verifies(
  ["RUN-60", "RUN-61", "RUN-65", "HIS-80", "HIS-81", "HIS-82", "HIS-83", "HIS-84"],
  "ten rounds of a fresh seed lose, double and reorder nothing, and nobody votes twice",
  () => holds({ seed: Math.floor(Math.random() * 1_000_000), rounds: 10, services: "apart" }),
  runMsMax,
);

const fixed: Plan.PlanOptions = { seed: 3, rounds: 4, services: "together" };

test("the fixed seed strikes everybody at once, a daemon and the network in their starts, and stops the network", () => {
  const { strikes } = Plan.make(fixed);
  const some = (wanted: (strike: Plan.Strike) => boolean): boolean => strikes.some(wanted);
  expect(some(({ victims }) => victims.length === Plan.cast.length + 1)).toBe(true);
  expect(some(({ victims, againMs }) => victims.join() === "network" && againMs.length > 0)).toBe(true);
  expect(some(({ victims: [one = ""], againMs }) => Plan.cast.includes(one) && againMs.length > 0)).toBe(
    true,
  );
  expect(some(({ victims, kind }) => victims.join() === "network" && kind === "pause")).toBe(true);
});

verifies(
  ["RUN-60", "RUN-61", "RUN-65", "RUN-66"],
  "nor do the four rounds of the fixed seed",
  () => holds(fixed),
  runMsMax,
);
