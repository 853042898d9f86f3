// The packets that members exchange inside sealed envelopes: closed shapes, decoded by kind.
// Says what may be written on the wire and nothing about what it does. Implements HIS-12 and HIS-14.

import * as Schema from "effect/Schema";
import type { Json } from "../encoding/CanonicalJson.ts";
import * as Closed from "../encoding/Closed.ts";
import { DecodeError } from "../encoding/DecodeError.ts";
import { CompletedReanchor, RouterAnchor, Signatures } from "../history/Evidence.ts";
import { Anchor, Height, RecordCore } from "../history/Record.ts";
import {
  ActionVote,
  CarryVote,
  DurabilityVote,
  ReanchorStatement,
  Refusal,
  SignerEvidence,
  Wish,
  Withdrawal,
} from "../history/Statement.ts";
import {
  ActionHash,
  AnchorHash,
  ConversationId,
  Ed25519Signature,
  Opaque32,
  RecordHash,
  RouterInstanceId,
} from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";

const signature = Ed25519Signature.schema;
const bounded = <S extends Schema.Constraint>(item: S) =>
  Schema.Array(item).check(Schema.isMaxLength(Limits.membersMax * Limits.candidatesPerAuthorMax));

export const ProposalPacket = Schema.Struct({
  kind: Schema.Literal("proposal_packet"),
  recordCore: RecordCore,
  authorSignature: signature,
  /** Present exactly when the conversation has two members. */
  actionVote: Schema.optionalKey(SignerEvidence),
});
export type ProposalPacket = typeof ProposalPacket.Type;

export const SignedActionVote = Schema.Struct({ ...ActionVote.fields, signature });
export type SignedActionVote = typeof SignedActionVote.Type;
export const SignedDurabilityVote = Schema.Struct({ ...DurabilityVote.fields, signature });
export type SignedDurabilityVote = typeof SignedDurabilityVote.Type;
export const SignedCarryVote = Schema.Struct({ ...CarryVote.fields, signature });
export type SignedCarryVote = typeof SignedCarryVote.Type;

export const VotePacket = Schema.Struct({
  kind: Schema.Literal("vote_packet"),
  actionVotes: bounded(SignedActionVote),
  durabilityVotes: bounded(SignedDurabilityVote),
  carryVotes: bounded(SignedCarryVote),
});
export type VotePacket = typeof VotePacket.Type;

export const ActionCertificate = Schema.Struct({
  kind: Schema.Literal("action_certificate"),
  conversationId: ConversationId.schema,
  recordHash: RecordHash.schema,
  actionHash: ActionHash.schema,
  height: Height,
  previousRecordHash: Schema.NullOr(RecordHash.schema),
  anchorHash: AnchorHash.schema,
  signatures: Signatures,
  durabilityVote: SignerEvidence,
});
export type ActionCertificate = typeof ActionCertificate.Type;

export const CertifiedNotice = Schema.Struct({
  kind: Schema.Literal("certified_notice"),
  conversationId: ConversationId.schema,
  recordHash: RecordHash.schema,
  height: Height,
  durabilityAnchorHash: AnchorHash.schema,
  actionSignatures: Signatures,
  durabilityVotes: Signatures,
});
export type CertifiedNotice = typeof CertifiedNotice.Type;

export const CertifiedRecord = Schema.Struct({
  kind: Schema.Literal("certified_record"),
  recordCore: RecordCore,
  routerAnchor: RouterAnchor,
  durabilityAnchor: Schema.NullOr(CompletedReanchor),
  actionSignatures: Signatures,
  durabilityVotes: Signatures,
});
export type CertifiedRecord = typeof CertifiedRecord.Type;

export const CatchUpRequest = Schema.Struct({
  kind: Schema.Literal("catch_up_request"),
  conversationId: ConversationId.schema,
  knownRecordHash: Schema.NullOr(RecordHash.schema),
  knownAnchorHash: Schema.NullOr(AnchorHash.schema),
});
export type CatchUpRequest = typeof CatchUpRequest.Type;

export const CatchUpPage = Schema.Struct({
  kind: Schema.Literal("catch_up_page"),
  conversationId: ConversationId.schema,
  afterRecordHash: Schema.NullOr(RecordHash.schema),
  items: Schema.Array(Schema.Union([CertifiedRecord, CompletedReanchor])),
  /** A hint, never evidence. */
  hasMore: Schema.Boolean,
});
export type CatchUpPage = typeof CatchUpPage.Type;

export const RecordRequest = Schema.Struct({
  kind: Schema.Literal("record_request"),
  conversationId: ConversationId.schema,
  recordHash: RecordHash.schema,
});
export type RecordRequest = typeof RecordRequest.Type;

export const RecordResponse = Schema.Struct({
  kind: Schema.Literal("record_response"),
  recordCore: RecordCore,
  routerAnchor: RouterAnchor,
  actionSignatures: Signatures,
});
export type RecordResponse = typeof RecordResponse.Type;

/** Refusals and withdrawals name no conversation: only its lane carries them, and the lane says which it is. */
export const RefusalPacket = Schema.Struct({ ...Refusal.fields, signature });
export type RefusalPacket = typeof RefusalPacket.Type;
export const WithdrawalPacket = Schema.Struct({ ...Withdrawal.fields, signature });
export type WithdrawalPacket = typeof WithdrawalPacket.Type;
export const WishPacket = Schema.Struct({ ...Wish.fields, signature });
export type WishPacket = typeof WishPacket.Type;

/** An action certificate by its votes alone: hashes, no content. */
export const Certificate = Schema.Struct({
  recordHash: RecordHash.schema,
  actionHash: ActionHash.schema,
  height: Height,
  previousRecordHash: Schema.NullOr(RecordHash.schema),
  anchorHash: AnchorHash.schema,
  signatures: Signatures,
});
export type Certificate = typeof Certificate.Type;

/** Statements travel with their proofs; each anchor's body proves the round that its hash stands for. */
export const StatementPacket = Schema.Struct({
  kind: Schema.Literal("statement_packet"),
  statement: ReanchorStatement,
  signature,
  headProof: Schema.NullOr(
    Schema.Struct({
      action: Certificate,
      durabilityAnchorHash: AnchorHash.schema,
      durabilityVotes: Signatures,
    }),
  ),
  preparedProof: Schema.NullOr(
    Schema.Struct({
      action: Certificate,
      anchor: Anchor,
      carry: Schema.NullOr(Schema.Struct({ anchor: Anchor, carryVotes: Signatures })),
    }),
  ),
});
export type StatementPacket = typeof StatementPacket.Type;

const SignedLaneHead = Schema.Struct({ laneHead: Opaque32.schema, signature });
/** Two signed heads of one lane position: the Router showed different orders to different members. */
export const EquivocationProof = Schema.Struct({
  kind: Schema.Literal("equivocation_proof"),
  conversationId: ConversationId.schema,
  routerInstanceId: RouterInstanceId.schema,
  lane: Opaque32.schema,
  sequence: Height,
  heads: Schema.Array(SignedLaneHead).check(Schema.isMinLength(2), Schema.isMaxLength(2)),
});
export type EquivocationProof = typeof EquivocationProof.Type;

const schemas = {
  proposal_packet: ProposalPacket,
  vote_packet: VotePacket,
  action_certificate: ActionCertificate,
  certified_notice: CertifiedNotice,
  catch_up_request: CatchUpRequest,
  catch_up_page: CatchUpPage,
  record_request: RecordRequest,
  record_response: RecordResponse,
  refusal: RefusalPacket,
  withdrawal: WithdrawalPacket,
  wish: WishPacket,
  statement_packet: StatementPacket,
  completed_reanchor: CompletedReanchor,
  equivocation_proof: EquivocationProof,
} as const;

export type PacketKind = keyof typeof schemas;
export type Packet = (typeof schemas)[PacketKind]["Type"];
export type PacketOf<K extends PacketKind> = (typeof schemas)[K]["Type"];

const decoders = Object.fromEntries(
  Object.entries(schemas).map(([kind, schema]) => [
    kind,
    Closed.decoder(schema as Schema.Codec<unknown, unknown>),
  ]),
) as { readonly [K in PacketKind]: (value: unknown) => PacketOf<K> };

/** Decodes one packet from JSON that was already bounded and canonical. Throws `DecodeError`. */
export const decode = (value: Json): Packet => {
  const kind = typeof value === "object" && value !== null && "kind" in value ? value["kind"] : undefined;
  if (typeof kind !== "string" || !Object.hasOwn(decoders, kind)) {
    throw new DecodeError("schema", "not a packet of a known kind");
  }
  return decoders[kind as PacketKind](value);
};

/** The conversation that a packet names, or null when it names none and its lane must say. */
export const conversationOf = (packet: Packet): ConversationId | null => {
  switch (packet.kind) {
    case "proposal_packet":
    case "record_response":
      return packet.recordCore.action.conversationId;
    case "vote_packet":
      return (
        packet.actionVotes[0]?.conversationId ??
        packet.durabilityVotes[0]?.conversationId ??
        packet.carryVotes[0]?.conversationId ??
        null
      );
    case "statement_packet":
      return packet.statement.conversationId;
    case "completed_reanchor":
      return packet.body.conversationId;
    case "action_certificate":
    case "certified_notice":
    case "catch_up_request":
    case "catch_up_page":
    case "record_request":
    case "wish":
    case "equivocation_proof":
      return packet.conversationId;
    case "refusal":
    case "withdrawal":
      return null;
  }
};
