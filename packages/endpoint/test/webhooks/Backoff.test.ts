// How long a failed delivery waits.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Backoff from "../../src/webhooks/Backoff.ts";

verifies("ING-95", "the wait doubles from one second to five minutes, less a jitter of at most half", () => {
  const waits = [1, 2, 3, 8, 9, 10, 100, 1e9].map((attempts) => Backoff.delayMs(attempts, 0, null));
  expect(waits).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000, 300_000]);
  for (const jitter of [0, 0.3, 0.999, 1]) {
    for (const attempts of [1, 5, 50]) {
      const full = Backoff.delayMs(attempts, 0, null);
      const wait = Backoff.delayMs(attempts, jitter, null);
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }
  }
});

verifies(
  "ING-95",
  "a receiver's Retry-After lengthens the wait, up to five minutes, and never shortens it",
  () => {
    expect(Backoff.delayMs(1, 0, 90_000)).toBe(90_000);
    expect(Backoff.delayMs(1, 0, 86_400_000)).toBe(300_000);
    expect(Backoff.delayMs(5, 0, 0)).toBe(16_000);
    expect(Backoff.delayMs(5, 1, 10_000)).toBe(10_000);
  },
);
