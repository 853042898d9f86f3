// The evidence of a record, and its bytes: no signature, no signer and no byte of a record may be another. Real Ed25519
// throughout.

import { describe, expect } from "vitest";
import * as fc from "fast-check";
import { certifiedBy } from "@social-harness/testkit/simulation/Certify";
import { verifies } from "@social-harness/testkit/Verifies";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type { SignerEvidence } from "@social-harness/protocol/history/Statement";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import {
  ActionHash,
  AnchorHash,
  ConversationId,
  Ed25519Signature,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { type Chain, chainFor, reasonOf, sizes, swapped, verifyAt } from "./Chain.ts";

const bytes32 = Buffer.alloc(32, 0x5a);

const flipped = (signature: Ed25519Signature, byte: number): Ed25519Signature => {
  const bytes = Ed25519Signature.toBytes(signature);
  bytes[byte] = (bytes[byte] as number) ^ 1;
  return Ed25519Signature.fromBytes(bytes);
};

describe("evidence", () => {
  const kinds = ["actionSignatures", "durabilityVotes"] as const;
  for (const n of sizes) {
    const chain = chainFor(n);
    const at = (height: number): HistoryRecord => chain.records[height] as HistoryRecord;
    for (const kind of kinds) {
      verifies("HIS-61", `${kind} of ${n} members: no signature may have one bit flipped`, () => {
        const record = at(1);
        for (let i = 0; i < n; i += Math.max(1, Math.floor(n / 4))) {
          for (const byte of [0, 31, 32, 63]) {
            const entries = record[kind].map((entry, j) =>
              i === j ? { ...entry, signature: flipped(entry.signature, byte) } : entry,
            );
            expect(reasonOf(() => verifyAt(chain, 1, { ...record, [kind]: entries }))).toBe("signature");
          }
        }
      });
      verifies("HIS-11", `${kind} of ${n} members: no repetition, no other order, no stranger`, () => {
        for (const height of [0, 1]) {
          const record = at(height);
          const refusal = (entries: ReadonlyArray<SignerEvidence>): string =>
            reasonOf(() => verifyAt(chain, height, { ...record, [kind]: entries }));
          expect(refusal(swapped(record[kind]))).toBe("threshold");
          expect(refusal([record[kind][0] as SignerEvidence, ...record[kind]])).toBe("threshold");
          const own = certifiedBy([...chain.signers, chain.stranger], record.recordCore, chain.anchor)[kind];
          expect(refusal(own)).toBe("threshold");
        }
      });
      verifies(
        "HIS-09",
        `${kind} of ${n} members: a vote for another record or by another signer does not count`,
        () => {
          const record = at(2);
          const refusal = (entries: ReadonlyArray<SignerEvidence>): string =>
            reasonOf(() => verifyAt(chain, 2, { ...record, [kind]: entries }));
          expect(refusal(at(1)[kind])).toBe("signature");
          const [first, second, ...rest] = record[kind] as [SignerEvidence, SignerEvidence];
          const exchanged = [
            { ...first, signature: second.signature },
            { ...second, signature: first.signature },
            ...rest,
          ];
          expect(refusal(exchanged)).toBe("signature");
        },
      );
    }
    verifies("HIS-10", `of ${n} members: a vote of one kind is none of the other`, () => {
      const record = at(1);
      const { actionSignatures, durabilityVotes } = record;
      const exchanged = { ...record, actionSignatures: durabilityVotes, durabilityVotes: actionSignatures };
      expect(reasonOf(() => verifyAt(chain, 1, exchanged))).toBe("signature");
    });
  }

  verifies("HIS-09", "a vote over any other field of its statement does not count", () => {
    const chain = chainFor(2);
    const record = chain.records[1] as HistoryRecord;
    const subject = VerifyRecord.subjectOf(record.recordHash, record.recordCore);
    const changes: ReadonlyArray<Partial<VerifyRecord.VoteSubject>> = [
      { conversationId: ConversationId.fromBytes(bytes32) },
      { height: 2 },
      { previousRecordHash: null },
      { anchorHash: AnchorHash.fromBytes(bytes32) },
      { recordHash: RecordHash.fromBytes(bytes32) },
      { actionHash: ActionHash.fromBytes(bytes32) },
    ];
    const signedOver = (change: Partial<VerifyRecord.VoteSubject>, kind: "action" | "durability") =>
      chain.signers.map(({ id, signer }) => {
        const statementOf = kind === "action" ? VerifyRecord.actionVoteOf : VerifyRecord.durabilityVoteOf;
        const statement = statementOf({ ...subject, ...change }, id);
        return { signerAgentId: id, signature: Statement.sign(signer, statement) };
      });
    for (const change of changes) {
      const actionSignatures = signedOver(change, "action");
      expect(reasonOf(() => verifyAt(chain, 1, { ...record, actionSignatures }))).toBe("signature");
      // A durability vote says nothing about the action: it covers the record, which covers it.
      const durabilityVotes = signedOver(change, "durability");
      const expected = "actionHash" in change ? "accepted" : "signature";
      expect(reasonOf(() => verifyAt(chain, 1, { ...record, durabilityVotes }))).toBe(expected);
    }
  });
});

describe("one changed byte", () => {
  const decode = Closed.bytesDecoder(Evidence.HistoryRecord, {
    bytesMax: Limits.exportLineBytesMax,
    depthMax: Limits.jsonDepthMax,
  });
  const verdict = (chain: Chain, height: number, bytes: Buffer): string => {
    try {
      verifyAt(chain, height, decode(bytes));
    } catch (error) {
      if (error instanceof DecodeError || error instanceof RecordError) return error.reason;
      throw error;
    }
    return "accepted";
  };
  const encodings = new Map(
    sizes.map((n) => [
      n,
      chainFor(n).records.map((record) => CanonicalJson.encodeBytes(record as CanonicalJson.Json)),
    ]),
  );

  verifies(["HIS-61", "HIS-12"], "anywhere in a record of two members is refused, byte for byte", () => {
    const chain = chainFor(2);
    for (const height of [0, 1]) {
      const bytes = encodings.get(2)?.[height] as Buffer;
      expect(verdict(chain, height, bytes)).toBe("accepted");
      for (let i = 0; i < bytes.length; i++) {
        const original = bytes[i] as number;
        bytes[i] = original ^ (i % 2 === 0 ? 0x01 : 0x20);
        if (verdict(chain, height, bytes) === "accepted") expect.fail(`byte ${i} of height ${height}`);
        bytes[i] = original;
      }
    }
  });

  verifies("HIS-61", "in a record of any size is refused", () => {
    const place = fc.record({
      n: fc.constantFrom(...sizes),
      height: fc.nat(3),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      mask: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(place, ({ n, height, at, mask }) => {
        const bytes = Buffer.from(encodings.get(n)?.[height] as Buffer);
        const i = Math.floor(at * bytes.length);
        bytes[i] = (bytes[i] as number) ^ mask;
        expect(verdict(chainFor(n), height, bytes)).not.toBe("accepted");
      }),
      { numRuns: 400 },
    );
  });
});
