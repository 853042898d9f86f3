// The fixed membership of a conversation, and its ids. Both lists stand in increasing order of decoded AgentId bytes.
// Implements HIS-02 and HIS-03.

import * as Schema from "effect/Schema";
import { DecodeError } from "../encoding/DecodeError.ts";
import { hash } from "../encoding/Hash.ts";
import * as AgentCard from "../identity/AgentCard.ts";
import {
  type AgentId,
  compareAgentIds,
  ConversationId,
  MembershipHash,
  type SigningKey,
} from "../identity/Identifier.ts";
import type { Verifier } from "../identity/Signing.ts";
import * as Limits from "../Limits.ts";
import { quorumOf } from "./Quorum.ts";

export const schema = Schema.Struct({
  kind: Schema.Literal("membership"),
  conversationId: ConversationId.schema,
  members: Schema.Array(AgentCard.Encoded).check(
    Schema.isMinLength(Limits.membersMin),
    Schema.isMaxLength(Limits.membersMax),
  ),
});
export type Membership = typeof schema.Type;

/** A membership whose cards have been decoded and checked, with what every rule asks of it. */
export interface Members {
  readonly membership: Membership;
  readonly conversationId: ConversationId;
  readonly membershipHash: MembershipHash;
  readonly cards: ReadonlyArray<AgentCard.AgentCard>;
  readonly ids: ReadonlyArray<AgentId>;
  readonly n: number;
  readonly quorum: number;
  readonly cardOf: (agentId: AgentId) => AgentCard.AgentCard | undefined;
  readonly indexOf: (agentId: AgentId) => number;
}

export const conversationIdOf = (memberAgentIds: ReadonlyArray<AgentId>): ConversationId =>
  ConversationId.fromBytes(hash("conversation", { kind: "conversation_identity", memberAgentIds }));

export const hashOf = (membership: Membership): MembershipHash =>
  MembershipHash.fromBytes(hash("membership", membership));

const build = (membership: Membership, cards: ReadonlyArray<AgentCard.AgentCard>): Members => {
  const ids = cards.map((card) => card.agentId);
  const index = new Map(ids.map((id, i) => [id, i]));
  return {
    membership,
    conversationId: membership.conversationId,
    membershipHash: hashOf(membership),
    cards,
    ids,
    n: ids.length,
    quorum: quorumOf(ids.length),
    cardOf: (agentId) => cards[index.get(agentId) ?? -1],
    indexOf: (agentId) => index.get(agentId) ?? -1,
  };
};

/** The membership of verified cards, whatever order they are given in. */
export const ofCards = (cards: ReadonlyArray<AgentCard.AgentCard>): Members => {
  const sorted = [...cards].sort((left, right) => compareAgentIds(left.agentId, right.agentId));
  const membership: Membership = {
    kind: "membership",
    conversationId: conversationIdOf(sorted.map((card) => card.agentId)),
    members: sorted.map(AgentCard.encode),
  };
  return build(membership, sorted);
};

/**
 * Checks a membership value whole: canonical cards under the pinned Registry key, strictly increasing ids, no repeated
 * name, and the conversation id that these ids make. Throws `DecodeError` when anything is off.
 */
export const verify = (verifier: Verifier, registryKey: SigningKey, membership: Membership): Members => {
  const cards = membership.members.map(AgentCard.decode);
  const refuse = (message: string): never => {
    throw new DecodeError("schema", message);
  };
  cards.forEach((card, i) => {
    const previous = cards[i - 1];
    if (previous !== undefined && compareAgentIds(previous.agentId, card.agentId) >= 0) {
      refuse("members do not stand in increasing order of decoded AgentId bytes");
    }
    if (!AgentCard.verify(verifier, registryKey, card)) refuse("a member's card does not verify");
  });
  if (new Set(cards.map((card) => card.agentName)).size !== cards.length)
    refuse("a member's name is repeated");
  if (membership.conversationId !== conversationIdOf(cards.map((card) => card.agentId))) {
    refuse("the conversation id is not that of these members");
  }
  return build(membership, cards);
};
