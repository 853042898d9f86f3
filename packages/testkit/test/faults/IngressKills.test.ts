// SIGKILL between a certified post and the receiver of a webhook, on real processes: a few rounds of a fixed seed, which kill
// both hooked agents in the middle of a delivery. `npm run faults -- --ingress` has as many as anybody wants.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Plan from "@social-harness/testkit/faults/Plan";
import { run } from "@social-harness/testkit/faults/Run";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, test } from "vitest";

const plan = Plan.make({ seed: 2794, rounds: 3, services: "together", ingress: true });

test("the fixed seed kills everybody, and each hooked agent at a delivery and again in its start", () => {
  const some = (wanted: (strike: Plan.Strike) => boolean): boolean => plan.strikes.some(wanted);
  expect(some(({ victims, kind }) => kind === "kill" && victims.length === Plan.cast.length + 1)).toBe(true);
  for (const name of Plan.hooked) {
    const hits = ({ victims, aim, againMs }: Plan.Strike): boolean =>
      victims.join() === name && aim?.tool === "delivery" && againMs.length > 0;
    expect(some(hits), name).toBe(true);
  }
});

verifies(
  ["ING-171", "ING-172", "ING-103", "ING-145"],
  "three rounds of the fixed seed lose no item, bind no token twice and repeat nothing whose receipt was stored",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "social-harness-faults-"));
    process.stdout.write(`ingress rounds: seed ${plan.seed}, in ${folder}\n`);
    const { faults, kills, ingress } = await run({
      plan,
      folder,
      say: (line) => void process.stdout.write(`${line}\n`),
    });
    expect(faults, `everything is kept in ${folder}`).toEqual([]);
    expect(kills).toBeGreaterThan(5);
    expect(ingress?.received).toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  },
  600_000,
);
