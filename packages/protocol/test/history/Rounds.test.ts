// Chains through their rounds at every size, and each law of an offline auditor broken alone: every refused record is
// hashed and signed by everyone it needs, and must fail for its own law and no other.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { registry } from "../../../../tools/vectors/People.ts";
import { changing, openedCarried, openedLater } from "../../../../tools/vectors/RoundChains.ts";
import { type Unlawful, unlawful } from "../../../../tools/vectors/RoundLaws.ts";

const trust: VerifyRecord.Trust = { verifier: Ed25519.verifier, registryKey: registry.publicKey };

const chainOf = (records: ReadonlyArray<HistoryRecord>): VerifiedChain.VerifiedChain => {
  const chain = VerifiedChain.begin(trust);
  for (const record of records) chain.take(record);
  return chain;
};

const refusalOf = (below: ReadonlyArray<HistoryRecord>, record: HistoryRecord): string => {
  const chain = chainOf(below);
  const { head } = chain;
  try {
    chain.take(record);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    expect(chain.head).toBe(head);
    return `${error.reason}: ${error.message}`;
  }
  return "accepted";
};

for (const n of [2, 3, 4, 7, 10, 32]) {
  const cast = Conversations.castOfSize(n);
  const changed = changing(cast);

  describe(`a chain of ${n} members`, () => {
    verifies(
      ["HIS-112", "HIS-113", "HIS-114"],
      "verifies through five rounds, carried records included",
      () => {
        const rounds = changed.records.map(
          (_, height) => chainOf(changed.records.slice(0, height + 1)).head?.round,
        );
        // The round of a record is its action's, also where its durability votes stand under a later one.
        expect(rounds).toEqual([0, 0, 2, 2, 3, 3, 5]);
        expect(changed.records.map(({ durabilityAnchor }) => durabilityAnchor?.body.round ?? null)).toEqual([
          null,
          null,
          null,
          3,
          null,
          5,
          null,
        ]);
      },
    );

    verifies(["HIS-115", "HIS-114"], "opens in a later round, and with a GENESIS that was carried", () => {
      expect(chainOf(openedLater(cast).records).head).toMatchObject({ height: 1, round: 1 });
      expect(chainOf(openedCarried(cast).records).head).toMatchObject({ height: 1, round: 2 });
    });

    const refuses = (clause: Unlawful["clause"]) => () => {
      const cases = unlawful(cast).filter((one) => one.clause === clause);
      expect(cases).not.toEqual([]);
      for (const { name, height, reason, says, record } of cases) {
        expect(refusalOf(changed.records.slice(0, height), record), name).toBe(`${reason}: ${says}`);
      }
    };
    verifies("HIS-110", "goes on under no anchor with a forged statement", refuses("HIS-110"));
    verifies("HIS-112", "goes on in no earlier round, and under no second anchor of one", refuses("HIS-112"));
    verifies("HIS-113", "goes on under no round that begins or carries elsewhere", refuses("HIS-113"));
    verifies(
      "HIS-114",
      "goes on with no record that its durability anchor does not carry",
      refuses("HIS-114"),
    );
    verifies("HIS-115", "opens with no GENESIS under a round that begins elsewhere", refuses("HIS-115"));

    verifies(["HIS-62", "HIS-114"], "needs the full thresholds for a carried record too", () => {
      const below = changed.records.slice(0, 3);
      const record = changed.records[3] as HistoryRecord;
      const short = { ...record, durabilityVotes: record.durabilityVotes.slice(1) };
      expect(refusalOf(below, short)).toMatch(/^threshold: /);
      const unsigned = { ...record, actionSignatures: record.actionSignatures.slice(1) };
      expect(refusalOf(below, unsigned)).toMatch(/^threshold: /);
    });
  });
}
