import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { AgentId, compareAgentIds } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as Limits from "../../src/Limits.ts";
import * as Envelope from "../../src/wire/Envelope.ts";
import { envelopeFrom, makeAgent, makeAgents, random, type Agent } from "../Fixture.ts";

const agents = makeAgents(3);
const [ada, bob] = agents as [Agent, Agent, Agent];
const { envelope, text } = envelopeFrom(ada, agents, "hello");
const decodes = (value: CanonicalJson.Json): boolean => {
  try {
    Envelope.decodeBytes(CanonicalJson.encodeBytes(value));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return false;
  }
};

verifies("RTR-01", "every field of an envelope is demanded, and no other is taken", () => {
  expect(Envelope.decodeBytes(Buffer.from(text))).toEqual(envelope);
  for (const field of Object.keys(envelope)) {
    const { [field as keyof typeof envelope]: _, ...rest } = envelope;
    expect(decodes(rest), `without ${field}`).toBe(false);
  }
  expect(decodes({ ...envelope, extra: "x" })).toBe(false);
  expect(decodes({ ...envelope, sealed: { ...envelope.sealed, aad: "x" } })).toBe(false);
  expect(decodes({ ...envelope, kind: "letter" })).toBe(false);
  expect(() => Envelope.decodeBytes(Buffer.from(` ${text}`))).toThrow(DecodeError);
  expect(() => Envelope.decodeBytes(Buffer.from(text.replace('"kind"', '"kind":"envelope","kind"')))).toThrow(
    DecodeError,
  );
});

verifies("RTR-01", "mutated envelopes decode canonically or fail with the typed error", () => {
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.string({ maxLength: 3 }), (at, junk) => {
      const mutated = text.slice(0, at) + junk + text.slice(at + junk.length);
      try {
        expect(CanonicalJson.encode(Envelope.decodeBytes(Buffer.from(mutated)))).toBe(mutated);
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError);
      }
    }),
  );
});

verifies(
  "RTR-02",
  "recipients stand in the order of their decoded bytes, which is not that of their text",
  () => {
    // 0xfb encodes to "-", which sorts before the "A" of zero as text and after it as bytes.
    const low = AgentId.fromBytes(Buffer.alloc(16, 0x00));
    const high = AgentId.fromBytes(Buffer.alloc(16, 0xfb));
    expect(low < high).toBe(false);
    expect(Envelope.orderRecipients([high, low, high])).toEqual([low, high]);
    const ids = envelope.recipientAgentIds;
    expect([...ids].sort(compareAgentIds)).toEqual(ids);
    const entries = envelope.sealed.recipients;
    const reordered = (order: ReadonlyArray<number>) => ({
      ...envelope,
      recipientAgentIds: order.map((i) => ids[i] as AgentId),
      sealed: { ...envelope.sealed, recipients: order.map((i) => entries[i] as (typeof entries)[number]) },
    });
    expect(decodes(reordered([0, 1, 2]))).toBe(true);
    expect(decodes(reordered([1, 0, 2]))).toBe(false);
    expect(decodes(reordered([0, 0, 1, 2]))).toBe(false);
    expect(decodes(reordered([]))).toBe(false);
  },
);

verifies("RTR-02", "with two or more recipients the sender is one of them, with one it need not be", () => {
  const outsider = makeAgent(9);
  expect(decodes(envelopeFrom(outsider, [ada, bob], "x").envelope)).toBe(false);
  expect(decodes(envelopeFrom(outsider, [ada], "x").envelope)).toBe(true);
  expect(decodes(envelopeFrom(ada, [ada], "x").envelope)).toBe(true);
});

verifies("RTR-02", "32 recipients are the most", () => {
  const many = makeAgents(33);
  const sender = many[0] as Agent;
  expect(decodes(envelopeFrom(sender, many.slice(0, 32), "x").envelope)).toBe(true);
  expect(decodes(envelopeFrom(sender, many, "x").envelope)).toBe(false);
});

verifies("RTR-03", "a body that is sealed to others than the recipients is refused", () => {
  const other = envelopeFrom(ada, [ada, bob], "x").envelope.sealed;
  expect(decodes({ ...envelope, sealed: other })).toBe(false);
  const swapped = { ...envelope.sealed, recipients: [...envelope.sealed.recipients].reverse() };
  expect(decodes({ ...envelope, sealed: swapped })).toBe(false);
});

verifies("RTR-04", "the signature covers every other field and verifies over the text", () => {
  const key = ada.signer.publicKey;
  expect(Envelope.verifyText(Ed25519.verifier, key, text, envelope.signature)).toBe(true);
  expect(Envelope.verifyText(Ed25519.verifier, bob.signer.publicKey, text, envelope.signature)).toBe(false);
  const other = envelopeFrom(bob, agents, "other").envelope;
  for (const field of Object.keys(envelope) as ReadonlyArray<keyof Envelope.Envelope>) {
    if (field === "kind") continue;
    const changed = { ...envelope, [field]: other[field] } as Envelope.Envelope;
    const same = JSON.stringify(changed[field]) === JSON.stringify(envelope[field]);
    const changedText = CanonicalJson.encode(changed);
    expect(Envelope.verifyText(Ed25519.verifier, key, changedText, changed.signature), field).toBe(same);
  }
});

verifies("RTR-05", "the finished text is the canonical form, and text and value have one digest", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 3 }),
      (body, n) => {
        const finished = envelopeFrom(ada, agents.slice(0, n), body);
        expect(finished.text).toBe(CanonicalJson.encode(finished.envelope));
        expect(Envelope.digestOfText(finished.text)).toBe(Envelope.digestOf(finished.envelope));
        expect(
          Envelope.verifyText(
            Ed25519.verifier,
            ada.signer.publicKey,
            finished.text,
            finished.envelope.signature,
          ),
        ).toBe(true);
      },
    ),
    { numRuns: 30 },
  );
  const resigned = { ...envelope, signature: envelopeFrom(ada, agents, "hello").envelope.signature };
  expect(Envelope.digestOf(resigned)).not.toBe(Envelope.digestOf(envelope));
});

verifies(
  "RTR-21",
  "the largest plaintext for 32 members fits an envelope, and one byte more than an envelope is refused",
  () => {
    const many = makeAgents(32);
    const largest = envelopeFrom(many[0] as Agent, many, random(380_000));
    expect(largest.text.length).toBeLessThanOrEqual(Limits.envelopeBytesMax);
    expect(decodes(largest.envelope)).toBe(true);
    // Four characters carry three bytes: find the plaintext that fills an envelope to the last whole group.
    const empty = envelopeFrom(ada, [ada], Buffer.alloc(3)).text.length - 4;
    const room = Limits.envelopeBytesMax - empty;
    const atMost = envelopeFrom(ada, [ada], Buffer.alloc(Math.floor(room / 4) * 3));
    expect(Limits.envelopeBytesMax - atMost.text.length).toBeLessThan(4);
    expect(decodes(atMost.envelope)).toBe(true);
    expect(decodes(envelopeFrom(ada, [ada], Buffer.alloc(Math.floor(room / 4) * 3 + 3)).envelope)).toBe(
      false,
    );
  },
);
