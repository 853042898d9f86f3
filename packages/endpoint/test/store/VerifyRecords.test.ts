// Verification over the thread pool beside the one function signature by signature: the same verdict on whole chains, and
// the same words about the same record where one does not verify.

import { describe, expect } from "vitest";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type { ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { otherRegistry, registry } from "../../../../tools/vectors/People.ts";
import { changing } from "../../../../tools/vectors/RoundChains.ts";
import { unlawful } from "../../../../tools/vectors/RoundLaws.ts";
import { verifyRecords } from "../../src/store/VerifyRecords.ts";

const trust: Trust = { verifier: Ed25519.verifier, registryKey: registry.publicKey };
const none = VerifiedChain.ancestryOf([]);

const oneByOne = (records: ReadonlyArray<HistoryRecord>, under = trust): ChainHead => {
  const chain = VerifiedChain.begin(under);
  for (const record of records) chain.take(record);
  return chain.head as ChainHead;
};

const verdictOf = async (attempt: () => ChainHead | Promise<ChainHead>): Promise<string> => {
  try {
    return (await attempt()).recordHash;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
};

const bothVerdicts = (records: ReadonlyArray<HistoryRecord>, under = trust) =>
  Promise.all([
    verdictOf(() => verifyRecords(under, null, records, none)),
    verdictOf(() => oneByOne(records, under)),
  ]);

for (const n of [2, 4, 32]) {
  const cast = Conversations.castOfSize(n);
  const { records } = changing(cast);

  describe(`records of ${n} members`, () => {
    verifies(
      "HIS-118",
      "verify in one go, and in pieces of every size above what was verified before",
      async () => {
        const whole = oneByOne(records).recordHash;
        for (let size = 1; size <= records.length; size++) {
          let head: ChainHead | null = null;
          for (let at = 0; at < records.length; at += size) {
            const below = VerifiedChain.ancestryOf(records.slice(0, at));
            head = await verifyRecords(trust, head, records.slice(at, at + size), below);
          }
          expect(head?.recordHash).toBe(whole);
        }
      },
    );

    verifies("HIS-118", "fail for the law that they break, whatever stands around them", async () => {
      for (const { name, height, reason, says, record } of unlawful(cast)) {
        const [pooled, single] = await bothVerdicts([
          ...records.slice(0, height),
          record,
          ...records.slice(height + 1),
        ]);
        expect(pooled, name).toBe(`${reason}: ${says}`);
        expect(pooled, name).toBe(single);
      }
    });

    verifies("HIS-118", "fail for the first that is wrong, also where a later one breaks a law", async () => {
      const at = (height: number): HistoryRecord => records[height] as HistoryRecord;
      const unsigned = { ...at(1), durabilityVotes: at(2).durabilityVotes };
      const [pooled, single] = await bothVerdicts([at(0), unsigned, at(1)]);
      expect([pooled, single]).toEqual([single, expect.stringMatching(/^signature: /)]);
      const [repeated, alone] = await bothVerdicts([at(0), at(1), at(1)]);
      expect([repeated, alone]).toEqual([alone, expect.stringMatching(/^position: /)]);
    });

    verifies("HIS-118", "fail for their membership under another Registry", async () => {
      const [pooled, single] = await bothVerdicts(records, {
        ...trust,
        registryKey: otherRegistry.publicKey,
      });
      expect([pooled, single]).toEqual([single, expect.stringMatching(/^membership: /)]);
    });
  });
}

verifies("HIS-118", "lets others get on before each record, and ends where it is told to", async () => {
  const { records } = changing(Conversations.castOfSize(4));
  let asked = 0;
  const head = await verifyRecords(trust, null, records, none, async () => {
    asked += 1;
    await new Promise(setImmediate);
  });
  expect([head.recordHash, asked]).toEqual([oneByOne(records).recordHash, records.length]);
  const left = new Error("nobody waits for it any more");
  const leaving = verifyRecords(trust, null, records, none, async () => {
    asked -= 1;
    if (asked === 1) throw left;
  });
  await expect(leaving).rejects.toBe(left);
  expect(asked).toBe(1);
});
