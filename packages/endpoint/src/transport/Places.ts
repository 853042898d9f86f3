// Which conversation an arriving packet belongs to, and which of them come into being here by one: with a GENESIS that another
// member sends, or, where this agent's memory was lost, with any word in a lane that it must have forgotten. Knows neither
// signatures of envelopes nor what a packet says. Implements HIS-159, HIS-166 and HIS-167.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
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

export const createPlaces = ({ card, trust, conversations }: PlacesOptions): Places => {
  const ownCard = AgentCard.encode(card);

  const enclosedMembers = (packet: Packet.ProposalPacket): Membership.Members | null => {
    if (!Record.isGenesis(packet.recordCore)) return null;
    try {
      return Membership.verify(trust.verifier, trust.registryKey, packet.recordCore.membership);
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

  /**
   * The conversation of a packet, made when a member of it sends, in its lane, a GENESIS proposal with a membership that this
   * agent truly belongs to, or speaks of one that it has forgotten; only so many of one sender, as long as they are not
   * certified.
   */
  const placeOf = (turn: Turn, packet: Packet.Packet, { envelope, lane }: Origin): Place => {
    const named = Packet.conversationOf(packet) ?? ConversationRows.idOfLane(turn.db, lane);
    if (named === null) return foreign;
    if (conversations.get(turn, named) !== null) return { conversationId: named };
    const isForgotten = isOfForgotten(turn, named, envelope, lane);
    if (packet.kind !== "proposal_packet" && !isForgotten) return foreign;
    const { senderAgentId } = envelope;
    // Asked before anything is verified: what is dropped should cost little.
    const { count, underWay } = ConversationRows.uncertifiedOf(turn.db, senderAgentId);
    if (underWay >= Limits.uncertifiedPerOpenerMax || count >= Limits.openedPerOpenerMax)
      return { nowhere: "crowded" };
    const enclosed = packet.kind === "proposal_packet" ? enclosedMembers(packet) : null;
    const members = enclosed ?? (isForgotten ? membersOf(turn, envelope) : null);
    if (
      members === null ||
      members.conversationId !== named ||
      !members.membership.members.includes(ownCard) ||
      members.cardOf(senderAgentId) === undefined ||
      Lane.laneOf(members.ids) !== lane
    ) {
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

  return { enclosedMembers, of: placeOf, strangersIn };
};
