// Every identifier of the protocol: a prefix and canonical base64url bytes, branded so that none passes for another.
// The only casts to these brands live here. Implements FND-20.

import type * as Brand from "effect/Brand";
import * as Schema from "effect/Schema";
import * as Base64Url from "../encoding/Base64Url.ts";

const define = <const Name extends string>(name: Name, prefix: string, byteCount: 16 | 32 | 64) => {
  const pattern = Base64Url.patternOf(byteCount, prefix);
  type Id = string & Brand.Brand<Name>;
  const expected = `expected ${name}: ${JSON.stringify(prefix)} and the canonical base64url of ${byteCount} bytes`;
  const schema = Schema.String.check(
    Schema.makeFilter((value: string) => pattern.test(value) || expected),
  ) as unknown as Schema.Codec<Id, string>;
  return {
    schema,
    is: (value: unknown): value is Id => typeof value === "string" && pattern.test(value),
    /** Mints the identifier of exactly `byteCount` bytes. */
    fromBytes: (bytes: Uint8Array): Id => {
      if (bytes.byteLength !== byteCount) throw new RangeError(`${name} takes ${byteCount} bytes`);
      return (prefix + Base64Url.encode(bytes)) as Id;
    },
    toBytes: (id: Id): Buffer => Buffer.from(id.slice(prefix.length), "base64url"),
  };
};

export const AgentId = define("AgentId", "agt_", 16);
export type AgentId = typeof AgentId.schema.Type;
export const PrincipalId = define("PrincipalId", "prn_", 16);
export type PrincipalId = typeof PrincipalId.schema.Type;
export const OperationId = define("OperationId", "opn_", 16);
export type OperationId = typeof OperationId.schema.Type;
export const MessageId = define("MessageId", "msg_", 16);
export type MessageId = typeof MessageId.schema.Type;
export const RouterInstanceId = define("RouterInstanceId", "rti_", 16);
export type RouterInstanceId = typeof RouterInstanceId.schema.Type;

export const ConversationId = define("ConversationId", "cnv_", 32);
export type ConversationId = typeof ConversationId.schema.Type;
export const MembershipHash = define("MembershipHash", "mbr_", 32);
export type MembershipHash = typeof MembershipHash.schema.Type;
export const PostId = define("PostId", "pst_", 32);
export type PostId = typeof PostId.schema.Type;
export const PostIntentHash = define("PostIntentHash", "pit_", 32);
export type PostIntentHash = typeof PostIntentHash.schema.Type;
export const AnchorHash = define("AnchorHash", "anc_", 32);
export type AnchorHash = typeof AnchorHash.schema.Type;
export const ActionHash = define("ActionHash", "ach_", 32);
export type ActionHash = typeof ActionHash.schema.Type;
export const RecordHash = define("RecordHash", "rch_", 32);
export type RecordHash = typeof RecordHash.schema.Type;
export const AgentCardDigest = define("AgentCardDigest", "acd_", 32);
export type AgentCardDigest = typeof AgentCardDigest.schema.Type;
export const CollectiveId = define("CollectiveId", "col_", 32);
export type CollectiveId = typeof CollectiveId.schema.Type;
export const DeliveryToken = define("DeliveryToken", "dlv_", 32);
export type DeliveryToken = typeof DeliveryToken.schema.Type;
export const EventId = define("EventId", "evt_", 32);
export type EventId = typeof EventId.schema.Type;

/** 32 bytes without a prefix: continuations, lanes, lane heads, nonces, log ids, line hashes. */
export const Opaque32 = define("Opaque32", "", 32);
export type Opaque32 = typeof Opaque32.schema.Type;
/** A raw Ed25519 public key, 43 characters. */
export const SigningKey = define("SigningKey", "", 32);
export type SigningKey = typeof SigningKey.schema.Type;
/** A raw X25519 public key, 43 characters. */
export const SealingKey = define("SealingKey", "", 32);
export type SealingKey = typeof SealingKey.schema.Type;
/** 64 signature bytes, 86 characters. */
export const Ed25519Signature = define("Ed25519Signature", "", 64);
export type Ed25519Signature = typeof Ed25519Signature.schema.Type;

/** The event id of a delivery: the token's bytes under another prefix (ING-21). */
export const eventIdOf = (token: DeliveryToken): EventId => EventId.fromBytes(DeliveryToken.toBytes(token));
export const deliveryTokenOf = (eventId: EventId): DeliveryToken =>
  DeliveryToken.fromBytes(EventId.toBytes(eventId));

/** Order of decoded AgentId bytes; the order of base64url text is another one and is used nowhere. */
export const compareAgentIds = (left: AgentId, right: AgentId): number => Base64Url.compareBytes(left, right);
