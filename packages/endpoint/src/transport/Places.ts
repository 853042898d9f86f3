// Which conversation an arriving packet belongs to, and which of them come into being here by one: with a GENESIS that another
// member sends, where this agent's memory was lost with any word in a lane that it must have forgotten, or with a page that shows
// this agent's vote for a GENESIS that is not here. Knows neither signatures of envelopes nor what else a packet says.
// Implements HIS-159, HIS-166, HIS-167 and HIS-176.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, subjectOf, type Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentId, ConversationId, Opaque32 } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type * as Envelope from "@social-harness/router/wire/Envelope";
import * as Lane from "@social-harness/router/wire/Lane";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { Conversations, Turn } from "../conversations/Conversations.ts";
import * as LostMemory from "../conversations/LostMemory.ts";
import * as Cards from "./Cards.ts";

/** Where packets came from. */
export interface Origin {
  readonly envelope: Envelope.Envelope;
  /** Its JCS. */
  readonly envelopeText: string;
  readonly lane: Opaque32;
  readonly sequence: number;
}

/** The conversation that a packet belongs to, or why there is none for it. */
export type Place = { readonly conversationId: ConversationId } | { readonly nowhere: "foreign" | "crowded" };

/** This agent is not in it, as far as the packet shows. */
const foreign: Place = { nowhere: "foreign" };

export interface PlacesOptions {
  readonly card: AgentCard.AgentCard;
  readonly trust: Trust;
  readonly conversations: Conversations;
}

export interface Places {
  /** The conversation that an envelope speaks of, when it is not here and a question to the sender may show that it was. */
  readonly askedAbout: (turn: Turn, packet: Packet.Packet, origin: Origin) => ConversationId | null;
  /** The membership that a GENESIS encloses, when it verifies. */
  readonly enclosedMembers: (packet: Packet.ProposalPacket) => Membership.Members | null;
  readonly of: (turn: Turn, packet: Packet.Packet, origin: Origin) => Place;
  /** Whose cards are lacking before a forgotten conversation can be taken up again. */
  readonly strangersIn: (
    turn: Turn,
    packets: ReadonlyArray<Packet.Packet>,
    origin: Origin,
  ) => ReadonlyArray<AgentId>;
}

/** Whether a packet is about a conversation that has begun, rather than the beginning of one or a question. */
const isOfBegun = (packet: Packet.Packet): boolean =>
  packet.kind === "proposal_packet"
    ? !Record.isGenesis(packet.recordCore)
    : packet.kind !== "catch_up_request" && packet.kind !== "record_request";

export const createPlaces = ({ card, trust, conversations }: PlacesOptions): Places => {
  const ownCard = AgentCard.encode(card);

  const enclosedMembers = ({ recordCore }: Packet.ProposalPacket): Membership.Members | null =>
    Record.isGenesis(recordCore) ? verified(recordCore.membership) : null;

  const verified = (membership: Membership.Membership): Membership.Members | null => {
    try {
      return Membership.verify(trust.verifier, trust.registryKey, membership);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return null;
    }
  };

  /**
   * Whether a packet speaks, in its lane, of a conversation that this agent must have forgotten: its memory was lost, the lane
   * is older than that, and the conversation is that of exactly the envelope's recipients.
   */
  const isOfForgotten = (
    turn: Turn,
    named: ConversationId,
    { recipientAgentIds }: Envelope.Envelope,
    lane: Opaque32,
  ): boolean =>
    recipientAgentIds.length > 1 &&
    LostMemory.notedAt(turn.db) !== null &&
    !LostMemory.beganSince(turn.db, lane) &&
    Membership.conversationIdOf(recipientAgentIds) === named;

  /** The membership that an envelope's recipients make, as soon as the cards of all of them are here. */
  const membersOf = (turn: Turn, { recipientAgentIds }: Envelope.Envelope): Membership.Members | null => {
    const cards = recipientAgentIds.flatMap((id) => Cards.byId(turn.db, id) ?? []);
    return cards.length === recipientAgentIds.length ? Membership.ofCards(cards) : null;
  };

  /** Whether a certified record of a conversation truly has this agent's action vote. */
  const hasOwnVote = (
    { recordCore, actionSignatures }: Packet.CertifiedRecord,
    named: ConversationId,
  ): boolean => {
    const own = actionSignatures.find(({ signerAgentId }) => signerAgentId === card.agentId);
    const subject = subjectOf(Record.recordHashOf(recordCore), recordCore);
    return (
      own !== undefined &&
      subject.conversationId === named &&
      Statement.verify(trust.verifier, card.signingKey, actionVoteOf(subject, card.agentId), own.signature)
    );
  };

  /**
   * The conversation that a page shows from its GENESIS on, when this agent has voted for that: nobody else can have signed it,
   * so this agent was in it and has forgotten.
   */
  const placeShown = (
    turn: Turn,
    { conversationId, items: [first] }: Packet.CatchUpPage,
    { senderAgentId }: Envelope.Envelope,
  ): Place => {
    if (first?.kind !== "certified_record" || !Record.isGenesis(first.recordCore)) return foreign;
    const members = hasOwnVote(first, conversationId) ? verified(first.recordCore.membership) : null;
    if (members === null || !isOurs(members, conversationId, senderAgentId)) return foreign;
    for (const member of members.cards) Cards.keep(turn.db, member);
    conversations.takeUp(turn, members, senderAgentId);
    return { conversationId };
  };

  const isOurs = (members: Membership.Members, named: ConversationId, senderAgentId: AgentId): boolean =>
    members.conversationId === named &&
    members.membership.members.includes(ownCard) &&
    members.cardOf(senderAgentId) !== undefined;

  /**
   * The conversation of a packet, made when a member of it sends, in its lane, a GENESIS proposal with a membership that this
   * agent truly belongs to, or speaks of one that it has forgotten; only so many of one sender, as long as they are not
   * certified.
   */
  const placeOf = (turn: Turn, packet: Packet.Packet, { envelope, lane }: Origin): Place => {
    const named = Packet.conversationOf(packet) ?? ConversationRows.idOfLane(turn.db, lane);
    if (named === null) return foreign;
    if (conversations.get(turn, named) !== null) return { conversationId: named };
    if (packet.kind === "catch_up_page") return placeShown(turn, packet, envelope);
    const isForgotten = isOfForgotten(turn, named, envelope, lane);
    if (packet.kind !== "proposal_packet" && !isForgotten) return foreign;
    const { senderAgentId } = envelope;
    // Asked before anything is verified: what is dropped should cost little.
    const { count, underWay } = ConversationRows.uncertifiedOf(turn.db, senderAgentId);
    if (underWay >= Limits.uncertifiedPerOpenerMax || count >= Limits.openedPerOpenerMax)
      return { nowhere: "crowded" };
    const enclosed = packet.kind === "proposal_packet" ? enclosedMembers(packet) : null;
    const members = enclosed ?? (isForgotten ? membersOf(turn, envelope) : null);
    if (members === null || !isOurs(members, named, senderAgentId) || Lane.laneOf(members.ids) !== lane) {
      return foreign;
    }
    for (const member of members.cards) Cards.keep(turn.db, member);
    conversations.create(turn, members, senderAgentId);
    return { conversationId: named };
  };

  const strangersIn = (
    turn: Turn,
    packets: ReadonlyArray<Packet.Packet>,
    { envelope, lane }: Origin,
  ): ReadonlyArray<AgentId> => {
    const named = packets.map(Packet.conversationOf).find((id) => id !== null);
    if (named === undefined || conversations.get(turn, named) !== null) return [];
    if (!isOfForgotten(turn, named, envelope, lane)) return [];
    return envelope.recipientAgentIds.filter((id) => Cards.byId(turn.db, id) === null);
  };

  const askedAbout = (
    turn: Turn,
    packet: Packet.Packet,
    { envelope: { recipientAgentIds, senderAgentId } }: Origin,
  ): ConversationId | null => {
    const named = Packet.conversationOf(packet);
    const isInLane = recipientAgentIds.length > 1 && recipientAgentIds.includes(senderAgentId);
    if (named === null || !isInLane || !isOfBegun(packet)) return null;
    if (conversations.get(turn, named) !== null) return null;
    return Membership.conversationIdOf(recipientAgentIds) === named ? named : null;
  };

  return { askedAbout, enclosedMembers, of: placeOf, strangersIn };
};
