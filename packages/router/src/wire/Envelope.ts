// The envelope: a signed, sealed body for an explicit set of recipients, and all that a Router learns about it.
// Its JCS text is made once and travels unchanged, so digest and signature are computed over slices of that text.
// Implements RTR-01 to RTR-05.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { hash, hashOfText } from "@social-harness/protocol/encoding/Hash";
import {
  AgentCardDigest,
  AgentId,
  compareAgentIds,
  Ed25519Signature,
  MessageId,
  Opaque32,
  type SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer, Verifier } from "@social-harness/protocol/identity/Signing";
import * as Protocol from "@social-harness/protocol/Limits";
import * as Schema from "effect/Schema";
import * as Limits from "../Limits.ts";
import * as Sealed from "../seal/Sealed.ts";

const fields = Schema.Struct({
  kind: Schema.Literal("envelope"),
  messageId: MessageId.schema,
  recipientAgentIds: Schema.Array(AgentId.schema).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(Limits.recipientsMax),
  ),
  sealed: Sealed.schema,
  senderAgentId: AgentId.schema,
  senderCardDigest: AgentCardDigest.schema,
  signature: Ed25519Signature.schema,
});
export type Envelope = typeof fields.Type;
export type UnsignedEnvelope = Omit<Envelope, "kind" | "signature">;

/** Strictly increasing decoded bytes; with two or more recipients the sender is one; sealed to exactly these. */
const isAddressed = ({ recipientAgentIds, senderAgentId, sealed }: Envelope): boolean =>
  recipientAgentIds.every(
    (id, i) => i === 0 || compareAgentIds(recipientAgentIds[i - 1] as AgentId, id) < 0,
  ) &&
  (recipientAgentIds.length === 1 || recipientAgentIds.includes(senderAgentId)) &&
  recipientAgentIds.length === sealed.recipients.length &&
  recipientAgentIds.every((id, i) => sealed.recipients[i]?.header.kid === id);

export const schema = fields.check(
  Schema.makeFilter(
    (envelope) =>
      isAddressed(envelope) ||
      "expected recipients in increasing order of decoded bytes, the sender among two or more, and the body sealed to them",
  ),
);

/** Recipients in the one order that an envelope may name them: increasing decoded bytes, nobody twice. */
export const orderRecipients = (agentIds: ReadonlyArray<AgentId>): ReadonlyArray<AgentId> =>
  [...new Set(agentIds)].sort(compareAgentIds);

/** An envelope together with its JCS text, the bytes that are stored, sent and hashed. */
export interface FinishedEnvelope {
  readonly envelope: Envelope;
  readonly text: string;
}

/** Signs an envelope. `unsigned` must be addressed as the schema demands; the sender is the signer's agent. */
export const finish = (signer: Signer, unsigned: UnsignedEnvelope): FinishedEnvelope => {
  const { messageId, recipientAgentIds, sealed, senderAgentId, senderCardDigest } = unsigned;
  const signed = {
    kind: "envelope" as const,
    messageId,
    recipientAgentIds,
    sealed,
    senderAgentId,
    senderCardDigest,
  };
  const unsignedJcs = CanonicalJson.encode(signed);
  const signature = signer.signText("envelope", unsignedJcs);
  const text = unsignedJcs.slice(0, -1) + signatureMember(signature);
  return { envelope: { ...signed, signature }, text };
};

/** `signature` is the last member in JCS order and of fixed length: signing appends it, verifying cuts it off. */
const signatureMember = (signature: Ed25519Signature): string => `,"signature":"${signature}"}`;
const signatureMemberLength = 102;

const unsignedText = (text: string): string => text.slice(0, -signatureMemberLength) + "}";

/** Whether the holder of `signingKey` signed the envelope of this JCS text. Says nothing about whose key that is. */
export const verifyText = (
  verifier: Verifier,
  signingKey: SigningKey,
  text: string,
  signature: Ed25519Signature,
): boolean => verifier.verifyText(signingKey, "envelope", unsignedText(text), signature);

/** Covers the signature: other signature bytes are another envelope. */
export const digestOf = (envelope: Envelope): Opaque32 =>
  Opaque32.fromBytes(hash("envelope-digest", envelope));

/** As `digestOf`, over the text of a decoded envelope. */
export const digestOfText = (text: string): Opaque32 =>
  Opaque32.fromBytes(hashOfText("envelope-digest", text));

/** Decodes parsed JSON whose canonical form and size the frame decoder has checked. */
export const decode = Closed.decoder(schema);

/** Decodes the bytes of one envelope. Verifies no signature. */
export const decodeBytes = Closed.bytesDecoder(schema, {
  bytesMax: Limits.envelopeBytesMax,
  depthMax: Protocol.jsonDepthMax,
});
