// The AgentCard: what a Registry certifies about an agent. Immutable; trusted only under one pinned Registry key.
// Implements IDN-01 to IDN-06.

import * as Schema from "effect/Schema";
import * as Base64Url from "../encoding/Base64Url.ts";
import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import * as Closed from "../encoding/Closed.ts";
import { DecodeError } from "../encoding/DecodeError.ts";
import { hash } from "../encoding/Hash.ts";
import * as Limits from "../Limits.ts";
import * as AgentName from "./AgentName.ts";
import * as Ed25519 from "./Ed25519.ts";
import {
  AgentCardDigest,
  AgentId,
  Ed25519Signature,
  PrincipalId,
  SealingKey,
  SigningKey,
} from "./Identifier.ts";
import type { Signer, Verifier } from "./Signing.ts";
import * as X25519 from "./X25519.ts";

const timestampPattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** The pattern leaves one question to the calendar: whether the month has that day. */
const isUtcSecond = (text: string): boolean => {
  if (!timestampPattern.test(text)) return false;
  const instant = new Date(text);
  return !Number.isNaN(instant.getTime()) && instant.toISOString().slice(0, 19) === text.slice(0, 19);
};

/** A real UTC second in the one spelling `YYYY-MM-DDTHH:mm:ssZ`. */
export const Timestamp = Schema.String.check(
  Schema.makeFilter((text: string) => isUtcSecond(text) || "expected a UTC second, YYYY-MM-DDTHH:mm:ssZ"),
).pipe(Schema.brand("Timestamp"));
export type Timestamp = typeof Timestamp.Type;

export const schema = Schema.Struct({
  kind: Schema.Literal("agent_card"),
  agentId: AgentId.schema,
  principalId: PrincipalId.schema,
  agentName: AgentName.schema,
  signingKey: SigningKey.schema,
  sealingKey: SealingKey.schema,
  registryKey: SigningKey.schema,
  issuedAt: Timestamp,
  keySignature: Ed25519Signature.schema,
  signature: Ed25519Signature.schema,
});
export type AgentCard = typeof schema.Type;

/** A card as it travels inside other values: base64url of the card's JCS bytes. */
export const Encoded = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]+$/),
  Schema.isMaxLength(Math.ceil((Limits.agentCardBytesMax * 4) / 3)),
).pipe(Schema.brand("EncodedAgentCard"));
export type EncodedAgentCard = typeof Encoded.Type;

/** The keys an agent binds to its name with its own signature: no Registry can swap the sealing key. */
export interface AgentKeys {
  readonly agentName: AgentName.AgentName;
  readonly principalId: PrincipalId;
  readonly signingKey: SigningKey;
  readonly sealingKey: SealingKey;
  readonly registryKey: SigningKey;
}

const keysOf = ({ agentName, principalId, signingKey, sealingKey, registryKey }: AgentKeys) => ({
  agentName,
  principalId,
  signingKey,
  sealingKey,
  registryKey,
});

export const signKeys = (signer: Signer, keys: AgentKeys): Ed25519Signature =>
  signer.sign("agent-keys", keysOf(keys));

/** Whether both keys are fit to stand in a card and the agent itself put them together under this name. */
export const verifyKeys = (verifier: Verifier, keys: AgentKeys, signature: Ed25519Signature): boolean =>
  Ed25519.isStrictKey(keys.signingKey) &&
  X25519.isContributory(keys.sealingKey) &&
  verifier.verify(keys.signingKey, "agent-keys", keysOf(keys), signature);

/** The id proves the key: no Registry can hand one agent's id to another key. */
export const agentIdOf = (signingKey: SigningKey): AgentId =>
  AgentId.fromBytes(hash("agent-id", { kind: "agent_identity", signingKey }).subarray(0, 16));

/** Issues a card under a Registry's key for keys whose own signature has been verified. */
export const issue = (
  registry: Signer,
  keys: AgentKeys,
  keySignature: Ed25519Signature,
  issuedAt: Timestamp,
): AgentCard => {
  const unsigned = {
    kind: "agent_card" as const,
    agentId: agentIdOf(keys.signingKey),
    ...keysOf(keys),
    issuedAt,
    keySignature,
  };
  return { ...unsigned, signature: registry.sign("agent-card", unsigned) };
};

/** Checks a card against the one pinned Registry key: derived id, strict keys, the agent's and the Registry's signature. */
export const verify = (verifier: Verifier, registryKey: SigningKey, card: AgentCard): boolean => {
  const { signature, ...unsigned } = card;
  return (
    card.registryKey === registryKey &&
    card.agentId === agentIdOf(card.signingKey) &&
    verifyKeys(verifier, card, card.keySignature) &&
    verifier.verify(registryKey, "agent-card", unsigned, signature)
  );
};

export const digestOf = (card: AgentCard): AgentCardDigest =>
  AgentCardDigest.fromBytes(hash("agent-card-digest", card));

export const encode = (card: AgentCard): EncodedAgentCard =>
  Base64Url.encode(CanonicalJson.encodeBytes(card)) as EncodedAgentCard;

const decodeBytes = Closed.bytesDecoder(schema, { bytesMax: Limits.agentCardBytesMax, depthMax: 1 });

/** Decodes an encoded card; the bytes must be the exact canonical form. Verifies no signature. */
export const decode = (encoded: EncodedAgentCard): AgentCard => {
  const bytes = Base64Url.decode(encoded);
  if (bytes === null) throw new DecodeError("not-canonical", "an encoded card is not canonical base64url");
  return decodeBytes(bytes);
};
