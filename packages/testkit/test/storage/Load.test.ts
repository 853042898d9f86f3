// Thirty writers on one endpoint while its histories are being read; `npm run storage` does the same for an hour.

import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import * as Load from "@social-harness/testkit/storage/Load";
import { verifies } from "@social-harness/testkit/Verifies";

const megabyte = 1_048_576;

verifies(
  "RUN-125",
  "C44 thirty writers and histories that are left open neither damage a store nor make its log grow",
  async () => {
    const network = await testNetwork();
    const result = await Load.run({
      network,
      random: (byteCount) => randomBytes(byteCount),
      seconds: 25,
      checkSeconds: 10,
      writers: 30,
      postBytes: 60_000,
      say: () => undefined,
    });
    expect(result.problems).toEqual([]);
    expect(result.openContinuations, "histories are left open").toBeGreaterThan(0);
    expect(result.posts).toBeGreaterThan(50);
    expect(result.walBytesMax).toBeLessThan(40 * megabyte);
    expect(result.routerWalBytesMax).toBeLessThan(40 * megabyte);
    expect(result.walRestarts, "it was folded and begun again under load").toBeGreaterThan(0);
  },
  180_000,
);
