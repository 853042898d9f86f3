// Void certificates at every size: as many refusals as prove that no action certificate can exist, and no fewer.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { actionThresholdOf, faultsOf } from "@social-harness/protocol/history/Quorum";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as Void from "@social-harness/protocol/history/Void";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { sizes } from "../../../../tools/vectors/Reanchors.ts";
import { accepted, refused } from "../../../../tools/vectors/Voids.ts";

const trust = { verifier: Ed25519.verifier };

const verdictOf = (...input: Parameters<typeof Void.verify>): string => {
  try {
    Void.verify(...input);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
  return "accepted";
};

describe("refusals needed", () => {
  verifies(
    "HIS-116",
    "are one below four members, and beyond that f more than the certificate can spare",
    () => {
      const needed = [2, 3, 4, 7, 10, 32].map((n) => [Void.refusalsNeeded(n, 0), Void.refusalsNeeded(n, 9)]);
      expect(needed).toEqual([
        [1, 1],
        [1, 1],
        [2, 3],
        [3, 5],
        [4, 7],
        [11, 21],
      ]);
    },
  );

  verifies(
    "HIS-116",
    "leave too few votes, with all faulty members voting all the same, and one fewer does not",
    () => {
      for (let n = 2; n <= 32; n++) {
        for (const height of [0, 1]) {
          const votesLeft = (refusals: number): number => n - refusals + Math.min(faultsOf(n), refusals);
          const needed = Void.refusalsNeeded(n, height);
          expect(needed).toBeLessThanOrEqual(n);
          expect(votesLeft(needed)).toBeLessThan(actionThresholdOf(n, height));
          expect(votesLeft(needed - 1)).toBeGreaterThanOrEqual(actionThresholdOf(n, height));
        }
      }
    },
  );
});

for (const n of sizes) {
  const cast = Conversations.castOfSize(n);
  describe(`refusals of ${n} members`, () => {
    for (const { name, refusals, ...action } of accepted(cast)) {
      verifies("HIS-116", `prove ${name}, void`, () => {
        expect(verdictOf(trust, cast.members, action, refusals)).toBe("accepted");
        expect(refusals.every((refusal) => Void.isSigned(trust, cast.members, refusal))).toBe(true);
      });
    }
    for (const { name, reason, says, refusals, ...action } of refused(cast)) {
      verifies("HIS-116", `prove nothing: ${name}`, () => {
        expect(verdictOf(trust, cast.members, action, refusals)).toBe(`${reason}: ${says}`);
      });
    }
  });
}
