// Everything a member signs about a conversation. The artifact of a statement is its kind with `-` for `_`.
// Votes name all that a proof needs without content. Implements HIS-09 and HIS-10.

import * as Schema from "effect/Schema";
import type { Json } from "../encoding/CanonicalJson.ts";
import {
  ActionHash,
  AgentId,
  AnchorHash,
  ConversationId,
  Ed25519Signature,
  MembershipHash,
  RecordHash,
  RouterInstanceId,
  type SigningKey,
} from "../identity/Identifier.ts";
import type { Signer, Verifier } from "../identity/Signing.ts";
import { Height, Round } from "./Record.ts";

export const ProposalStatement = Schema.Struct({
  kind: Schema.Literal("proposal"),
  authorAgentId: AgentId.schema,
  actionHash: ActionHash.schema,
});
export type ProposalStatement = typeof ProposalStatement.Type;

const voteFields = {
  signerAgentId: AgentId.schema,
  conversationId: ConversationId.schema,
  height: Height,
  previousRecordHash: Schema.NullOr(RecordHash.schema),
  anchorHash: AnchorHash.schema,
  recordHash: RecordHash.schema,
};

export const ActionVote = Schema.Struct({
  kind: Schema.Literal("action_vote"),
  ...voteFields,
  actionHash: ActionHash.schema,
});
export type ActionVote = typeof ActionVote.Type;
export const DurabilityVote = Schema.Struct({ kind: Schema.Literal("durability_vote"), ...voteFields });
export type DurabilityVote = typeof DurabilityVote.Type;
export const CarryVote = Schema.Struct({ kind: Schema.Literal("carry_vote"), ...voteFields });
export type CarryVote = typeof CarryVote.Type;

export const Wish = Schema.Struct({
  kind: Schema.Literal("wish"),
  signerAgentId: AgentId.schema,
  conversationId: ConversationId.schema,
  round: Round,
  routerInstanceId: RouterInstanceId.schema,
});
export type Wish = typeof Wish.Type;

export const ReanchorStatement = Schema.Struct({
  kind: Schema.Literal("reanchor_statement"),
  signerAgentId: AgentId.schema,
  conversationId: ConversationId.schema,
  membershipHash: MembershipHash.schema,
  round: Round,
  routerInstanceId: RouterInstanceId.schema,
  head: Schema.NullOr(Schema.Struct({ recordHash: RecordHash.schema, height: Height })),
  prepared: Schema.NullOr(Schema.Struct({ recordHash: RecordHash.schema, height: Height, round: Round })),
});
export type ReanchorStatement = typeof ReanchorStatement.Type;

export const RefusalReason = Schema.Literals(["contact-policy", "withdrawn"]);
export const Refusal = Schema.Struct({
  kind: Schema.Literal("refusal"),
  signerAgentId: AgentId.schema,
  actionHash: ActionHash.schema,
  reason: RefusalReason,
});
export type Refusal = typeof Refusal.Type;
export const Withdrawal = Schema.Struct({
  kind: Schema.Literal("withdrawal"),
  authorAgentId: AgentId.schema,
  actionHash: ActionHash.schema,
});
export type Withdrawal = typeof Withdrawal.Type;

export type Statement =
  | ProposalStatement
  | ActionVote
  | DurabilityVote
  | CarryVote
  | Wish
  | ReanchorStatement
  | Refusal
  | Withdrawal;

const artifactOf = (statement: Statement): string => statement.kind.replaceAll("_", "-");

export const sign = (signer: Signer, statement: Statement): Ed25519Signature =>
  signer.sign(artifactOf(statement), statement as Json);

export const verify = (
  verifier: Verifier,
  key: SigningKey,
  statement: Statement,
  signature: Ed25519Signature,
): boolean => verifier.verify(key, artifactOf(statement), statement as Json, signature);

/** One signer's entry in a certificate. */
export const SignerEvidence = Schema.Struct({
  signerAgentId: AgentId.schema,
  signature: Ed25519Signature.schema,
});
export type SignerEvidence = typeof SignerEvidence.Type;
