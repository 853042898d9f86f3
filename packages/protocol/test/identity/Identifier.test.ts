import * as fc from "fast-check";
import type * as Schema from "effect/Schema";
import { describe, expect } from "vitest";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Identifier from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

interface Kind {
  readonly schema: Schema.Codec<string, string>;
  readonly is: (value: unknown) => boolean;
  readonly fromBytes: (bytes: Uint8Array) => string;
  readonly toBytes: (id: never) => Buffer;
}

/** Every identifier: its list files' stem, its definition, its prefix and byte count as the specification states them. */
const kinds: ReadonlyArray<readonly [stem: string, kind: Kind, prefix: string, byteCount: number]> = [
  ["agent_id", Identifier.AgentId, "agt_", 16],
  ["principal_id", Identifier.PrincipalId, "prn_", 16],
  ["operation_id", Identifier.OperationId, "opn_", 16],
  ["message_id", Identifier.MessageId, "msg_", 16],
  ["router_instance_id", Identifier.RouterInstanceId, "rti_", 16],
  ["conversation_id", Identifier.ConversationId, "cnv_", 32],
  ["membership_hash", Identifier.MembershipHash, "mbr_", 32],
  ["post_id", Identifier.PostId, "pst_", 32],
  ["post_intent_hash", Identifier.PostIntentHash, "pit_", 32],
  ["anchor_hash", Identifier.AnchorHash, "anc_", 32],
  ["action_hash", Identifier.ActionHash, "ach_", 32],
  ["record_hash", Identifier.RecordHash, "rch_", 32],
  ["agent_card_digest", Identifier.AgentCardDigest, "acd_", 32],
  ["collective_id", Identifier.CollectiveId, "col_", 32],
  ["delivery_token", Identifier.DeliveryToken, "dlv_", 32],
  ["event_id", Identifier.EventId, "evt_", 32],
  ["history_continuation", Identifier.Opaque32, "", 32],
  ["signing_key", Identifier.SigningKey, "", 32],
  ["sealing_key", Identifier.SealingKey, "", 32],
  ["ed25519_signature", Identifier.Ed25519Signature, "", 64],
];

const accepts = (kind: Kind, value: unknown): boolean => {
  try {
    Closed.decoder(kind.schema)(value);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return false;
  }
  return true;
};

describe.each(kinds)("%s", (stem, kind, prefix, byteCount) => {
  verifies("FND-20", "every valid spelling decodes and is what its bytes encode to", () => {
    const spellings = VectorFiles.lines(`${stem}_valid.txt`);
    expect(spellings.length).toBeGreaterThan(3);
    for (const spelling of spellings) {
      expect(kind.is(spelling) && accepts(kind, spelling), spelling).toBe(true);
      expect(spelling.startsWith(prefix)).toBe(true);
      const bytes = kind.toBytes(spelling as never);
      expect(bytes.byteLength).toBe(byteCount);
      expect(kind.fromBytes(bytes)).toBe(spelling);
    }
  });

  verifies("FND-20", "every invalid spelling is refused", () => {
    for (const spelling of VectorFiles.lines(`${stem}_invalid.txt`)) {
      expect(kind.is(spelling) || accepts(kind, spelling), JSON.stringify(spelling)).toBe(false);
    }
    const good = VectorFiles.lines(`${stem}_valid.txt`)[0] as string;
    for (const value of [
      `${good}\n`,
      `\n${good}`,
      null,
      undefined,
      7,
      [good],
      { id: good },
      Buffer.from(good),
    ]) {
      expect(kind.is(value) || accepts(kind, value)).toBe(false);
    }
  });

  verifies(
    "FND-20",
    "any bytes of the right number have exactly one spelling, and other numbers have none",
    () => {
      fc.assert(
        fc.property(fc.uint8Array({ minLength: byteCount, maxLength: byteCount }), (bytes) => {
          const spelling = kind.fromBytes(bytes);
          expect(kind.is(spelling)).toBe(true);
          expect(kind.toBytes(spelling as never).equals(bytes)).toBe(true);
        }),
        { numRuns: 50 },
      );
      for (const wrong of [0, byteCount - 1, byteCount + 1]) {
        expect(() => kind.fromBytes(Buffer.alloc(wrong))).toThrow(RangeError);
      }
    },
  );

  verifies("FND-21", "no spelling of another prefix or length passes for it", () => {
    for (const [other, , otherPrefix, otherCount] of kinds) {
      if (otherPrefix === prefix && otherCount === byteCount) continue;
      for (const spelling of VectorFiles.lines(`${other}_valid.txt`)) {
        expect(kind.is(spelling) || accepts(kind, spelling), spelling).toBe(false);
      }
    }
  });

  verifies("FND-20", "a changed character is another identifier or none, never the same one", () => {
    const character = fc.constantFrom(..."ABCXYZabcxyz019-_+/=. \t\n\u0130\uff21");
    fc.assert(
      fc.property(fc.nat(), character, fc.nat(), (at, replacement, which) => {
        const spellings = VectorFiles.lines(`${stem}_valid.txt`);
        const good = spellings[which % spellings.length] as string;
        const i = at % good.length;
        const spelling = good.slice(0, i) + replacement + good.slice(i + 1);
        fc.pre(spelling !== good);
        if (!kind.is(spelling)) return;
        expect(kind.toBytes(spelling as never).equals(kind.toBytes(good as never))).toBe(false);
        expect(kind.fromBytes(kind.toBytes(spelling as never))).toBe(spelling);
      }),
    );
  });
});

verifies("FND-22", "agent ids compare by their bytes, which base64url text does not", () => {
  const ids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(Identifier.AgentId.fromBytes);
  fc.assert(
    fc.property(ids, ids, (left, right) => {
      const expected = Buffer.compare(Identifier.AgentId.toBytes(left), Identifier.AgentId.toBytes(right));
      expect(Identifier.compareAgentIds(left, right)).toBe(expected);
    }),
  );
  const low = Identifier.AgentId.fromBytes(Buffer.alloc(16, 0x00));
  const high = Identifier.AgentId.fromBytes(Buffer.alloc(16, 0xff));
  const middle = Identifier.AgentId.fromBytes(Buffer.alloc(16, 0x69));
  expect([high, middle, low].toSorted(Identifier.compareAgentIds)).toEqual([low, middle, high]);
  expect([high, middle, low].toSorted()).toEqual([low, high, middle]);
});

verifies("FND-23", "a delivery token and its event id carry the same bytes under two prefixes", () => {
  for (const spelling of VectorFiles.lines("delivery_token_valid.txt")) {
    const token = spelling as Identifier.DeliveryToken;
    const eventId = Identifier.eventIdOf(token);
    expect(eventId).toBe(spelling.replace("dlv_", "evt_"));
    expect(Identifier.deliveryTokenOf(eventId)).toBe(token);
  }
});
