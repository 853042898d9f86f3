// The soak for some seconds: that it checks what it says, and finds growth. `npm run soak` does it for half an hour or more.

import { expect } from "vitest";
import * as Soak from "@social-harness/testkit/storage/Soak";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

verifies(
  "RUN-213",
  "three daemons with six writers keep sound stores and chains and short write-ahead logs",
  async () => {
    const result = await Soak.run({
      folder: Town.temporaryFolder(),
      seconds: 10,
      checkSeconds: 4,
      endpoints: 3,
      writers: 6,
      say: () => undefined,
    });
    expect(result.problems).toEqual([]);
    expect(result.posts).toBeGreaterThan(6);
    expect(result.checks).toBeGreaterThan(1);
    expect(result.walBytesMax).toBeGreaterThan(0);
  },
  180_000,
);

verifies("RUN-214", "memory that grows check by check is found, and memory that is flat is not", () => {
  const checks = Array.from({ length: 30 }, (_, check) => check);
  expect(Soak.growthOf(checks.map((check) => 80 + 5 * check))).toBeGreaterThan(60);
  expect(
    Soak.growthOf(checks.map((check) => (check < 5 ? 60 + 10 * check : 110 + (check % 3)))),
  ).toBeLessThan(3);
  expect(Soak.growthOf(checks.slice(0, 5)), "too few checks say nothing").toBe(null);
});
