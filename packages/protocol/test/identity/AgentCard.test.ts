import * as fc from "fast-check";
import { expect } from "vitest";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { hash } from "@social-harness/protocol/encoding/Hash";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { PrincipalId, SealingKey, type SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const vectors = VectorFiles.json<{
  readonly registryKey: SigningKey;
  readonly accepted: ReadonlyArray<{
    readonly encoded: AgentCard.EncodedAgentCard;
    readonly card: AgentCard.AgentCard;
    readonly agentId: string;
    readonly digest: string;
  }>;
  readonly refused: ReadonlyArray<{
    readonly name: string;
    readonly stage: "decode" | "verify";
    readonly encoded: AgentCard.EncodedAgentCard;
    readonly registryKey: SigningKey;
  }>;
}>("cards.json");

const registry = Ed25519.signerFromSeed(Buffer.alloc(32, 1));
const agent = Ed25519.signerFromSeed(Buffer.alloc(32, 2));
const issuedAt = "2026-11-30T12:00:00Z" as AgentCard.Timestamp;
const keys: AgentCard.AgentKeys = {
  agentName: "alice" as AgentName,
  principalId: PrincipalId.fromBytes(Buffer.alloc(16, 3)),
  signingKey: agent.publicKey,
  sealingKey: SealingKey.fromBytes(Buffer.alloc(32, 4)),
  registryKey: registry.publicKey,
};
const issue = (changes: Partial<AgentCard.AgentKeys> = {}): AgentCard.AgentCard => {
  const changed = { ...keys, ...changes };
  return AgentCard.issue(registry, changed, AgentCard.signKeys(agent, changed), issuedAt);
};
const isGood = (card: AgentCard.AgentCard, registryKey: SigningKey = registry.publicKey): boolean =>
  AgentCard.verify(Ed25519.verifier, registryKey, card);

/** What became of an encoded card; an error that is not the typed one fails the test. */
const outcomeOf = (encoded: AgentCard.EncodedAgentCard, registryKey: SigningKey): string => {
  try {
    return isGood(AgentCard.decode(encoded), registryKey) ? "accepted" : "verify";
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return "decode";
  }
};

verifies("IDN-01", "the agent id is the leading 16 bytes of the hash of the signing key", () => {
  const expected = hash("agent-id", { kind: "agent_identity", signingKey: agent.publicKey }).subarray(0, 16);
  expect(issue().agentId).toBe(`agt_${Base64Url.encode(expected)}`);
});

verifies(
  ["IDN-02", "IDN-03"],
  "an issued card verifies under its Registry's key and carries both signatures",
  () => {
    const card = issue();
    expect(isGood(card)).toBe(true);
    const { signature, keySignature, kind: _, agentId: __, issuedAt: ___, ...bound } = card;
    expect(agent.sign("agent-keys", bound)).toBe(keySignature);
    const { signature: ____, ...unsigned } = card;
    expect(registry.sign("agent-card", unsigned)).toBe(signature);
  },
);

verifies(
  ["IDN-01", "IDN-03", "IDN-04", "IDN-05"],
  "every accepted vector decodes, verifies, and has the stated id and digest",
  () => {
    for (const { encoded, card, agentId, digest } of vectors.accepted) {
      expect(outcomeOf(encoded, vectors.registryKey)).toBe("accepted");
      expect(AgentCard.decode(encoded)).toEqual(card);
      expect(AgentCard.encode(card)).toBe(encoded);
      expect(card.agentId).toBe(agentId);
      expect(AgentCard.digestOf(card)).toBe(digest);
    }
  },
);

verifies(
  ["IDN-02", "IDN-03", "IDN-04", "IDN-06", "FND-04"],
  "C69: every refused vector is refused at the stated stage",
  () => {
    for (const { name, stage, encoded, registryKey } of vectors.refused) {
      expect(outcomeOf(encoded, registryKey), name).toBe(stage);
    }
  },
);

verifies(
  "IDN-03",
  "C69: a card that names and is signed by another Registry never verifies under the pinned key",
  () => {
    const stranger = Ed25519.signerFromSeed(Buffer.alloc(32, 9));
    const theirs = { ...keys, registryKey: stranger.publicKey };
    const card = AgentCard.issue(stranger, theirs, AgentCard.signKeys(agent, theirs), issuedAt);
    expect(isGood(card, stranger.publicKey)).toBe(true);
    expect(isGood(card, registry.publicKey)).toBe(false);
    expect(isGood({ ...card, registryKey: registry.publicKey })).toBe(false);
    expect(isGood(issue(), stranger.publicKey)).toBe(false);
  },
);

verifies("IDN-02", "a Registry that swaps a sealing key, a name or a principal is refused", () => {
  const good = issue();
  const swaps: ReadonlyArray<Partial<AgentCard.AgentKeys>> = [
    { sealingKey: SealingKey.fromBytes(Buffer.alloc(32, 5)) },
    { agentName: "mallory" as AgentName },
    { principalId: PrincipalId.fromBytes(Buffer.alloc(16, 6)) },
  ];
  for (const swap of swaps) {
    const card = AgentCard.issue(registry, { ...keys, ...swap }, good.keySignature, issuedAt);
    expect(isGood(card)).toBe(false);
  }
});

verifies(["IDN-02", "IDN-03"], "one changed bit in any field of a card is refused", () => {
  const bytes = CanonicalJson.encodeBytes(issue());
  const card = issue();
  for (const [field, value] of Object.entries(card)) {
    const start = bytes.indexOf(`"${field}":"`) + field.length + 4;
    for (let i = start; i < start + value.length; i++) {
      for (const bit of [0, 1, 4]) {
        const mutated = Buffer.from(bytes);
        mutated[i] = (mutated[i] as number) ^ (1 << bit);
        const encoded = Base64Url.encode(mutated) as AgentCard.EncodedAgentCard;
        expect(outcomeOf(encoded, registry.publicKey), `${field} ${i - start} ${bit}`).not.toBe("accepted");
      }
    }
  }
});

verifies("IDN-04", "mutated encodings are refused with the typed error or re-encode to themselves", () => {
  const good = AgentCard.encode(issue());
  const character = fc.constantFrom(..."ABab01-_+/= \n\u00e9");
  fc.assert(
    fc.property(fc.nat(good.length - 1), character, fc.constantFrom(0, 1), (at, replacement, drop) => {
      const encoded = (good.slice(0, at) + replacement + good.slice(at + drop)) as AgentCard.EncodedAgentCard;
      fc.pre(encoded !== good);
      const outcome = outcomeOf(encoded, registry.publicKey);
      expect(outcome).not.toBe("accepted");
      if (outcome === "verify") expect(AgentCard.encode(AgentCard.decode(encoded))).toBe(encoded);
    }),
    { numRuns: 1_000 },
  );
});

verifies("IDN-04", "mutated card bytes are refused with the typed error or re-encode to themselves", () => {
  const good = CanonicalJson.encodeBytes(issue());
  fc.assert(
    fc.property(fc.nat(good.byteLength - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] as number) ^ mask;
      const encoded = Base64Url.encode(bytes) as AgentCard.EncodedAgentCard;
      const outcome = outcomeOf(encoded, registry.publicKey);
      expect(outcome).not.toBe("accepted");
      if (outcome === "verify") expect(AgentCard.encode(AgentCard.decode(encoded))).toBe(encoded);
    }),
    { numRuns: 2_000 },
  );
});

verifies(
  ["IDN-04", "FND-40"],
  "the largest card fits the bound, and larger bytes are refused before parsing",
  () => {
    const card = issue({ agentName: "a".repeat(32) as AgentName });
    const encoded = AgentCard.encode(card);
    expect(AgentCard.decode(encoded)).toEqual(card);
    expect(CanonicalJson.byteLength(card)).toBeLessThanOrEqual(Limits.agentCardBytesMax);
    const padded = Base64Url.encode(
      Buffer.alloc(Limits.agentCardBytesMax + 1, 0x20),
    ) as AgentCard.EncodedAgentCard;
    expect(() => AgentCard.decode(padded)).toThrow(expect.objectContaining({ reason: "too-large" }));
  },
);
