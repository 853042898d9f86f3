// One delivery from the Router, taken in inside a turn: the lane's continuity, the sender's card and signature, the sealed
// packets, and the conversations that they speak about. Whatever is not believed is dropped with a note; only the store
// itself can make a delivery fail. Implements HIS-35, HIS-49, HIS-50, HIS-136 and HIS-159.

import * as Packet from "@social-harness/protocol/conversation/Packet";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type {
  AgentId,
  Opaque32,
  RouterInstanceId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { Logger } from "@social-harness/router/Logger";
import type { Delivery } from "@social-harness/router/client/RouterClient";
import type { Opener } from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import * as ConversationRows from "../conversations/ConversationRows.ts";
import type { Conversations, Turn } from "../conversations/Conversations.ts";
import { isStoreFailure } from "../store/Database.ts";
import * as Cards from "./Cards.ts";
import * as Equivocations from "./Equivocations.ts";
import * as LaneHeads from "./LaneHeads.ts";
import * as Opened from "./Opened.ts";
import type { OwnCopy } from "./OwnCopies.ts";
import { createPlaces, type Origin } from "./Places.ts";
import * as RouterTerms from "./RouterTerms.ts";

export interface InboundOptions {
  readonly card: AgentCard.AgentCard;
  readonly trust: Trust;
  readonly routerKey: SigningKey;
  readonly opener: Opener;
  readonly conversations: Conversations;
  readonly logger: Logger;
}

/** What a delivery led to beyond its conversations. */
export type Arrival =
  /** `strangers` are agents whose cards would be of use: what they make known is said again. */
  | { readonly kind: "taken"; readonly strangers?: ReadonlyArray<AgentId> }
  /** Nobody here knows the sender's card: it must be looked up, the envelope is held. */
  | { readonly kind: "held"; readonly sender: AgentId }
  /** The Router contradicts what it said before: its log went back. */
  | { readonly kind: "contradiction" };

const taken: Arrival = { kind: "taken" };

/** The Router's log that a delivery comes from. */
export interface RouterLog {
  readonly routerInstanceId: RouterInstanceId;
  /** Whether the store remembers logs before it. */
  readonly hasFormer: boolean;
}

export interface Inbound {
  /** `own` says that the delivery is a copy of what this process sent, and what that was. */
  readonly take: (turn: Turn, delivery: Delivery, log: RouterLog, own: OwnCopy | null) => Arrival;
  /** Looks at a delivery whose effects are here already: the Router must say the same about it as before. */
  readonly takeAgain: (turn: Turn, delivery: Delivery, routerInstanceId: RouterInstanceId) => Arrival;
  /** Takes in the envelopes of a sender that were held until its card was known. */
  readonly releaseHeld: (turn: Turn, sender: AgentId) => void;
}

/**
 * Questions of one envelope that are answered. An honest one holds two about its conversation; each answer may be as large
 * as an envelope, so a small one must not draw thousands of them.
 */
const questionsPerEnvelopeMax = 4;

/**
 * Envelopes that may be waiting when a question is answered. Who asks too much is answered less, and nobody's own posts wait
 * behind the answers for long; an honest member asks again, and another one.
 */
const waitingEnvelopesMax = 32;

/** Envelopes of this agent that the Router has not accepted, those that this turn will add included. */
const waitingIn = ({ db, state }: Turn): number =>
  Number(db.get("SELECT count(*) AS waiting FROM outbox")?.["waiting"]) + state.sends.length;

const isQuestion = ({ kind }: Packet.Packet): boolean =>
  kind === "catch_up_request" || kind === "record_request";

export const createInbound = (options: InboundOptions): Inbound => {
  const { card, trust, routerKey, opener, conversations, logger } = options;
  const places = createPlaces({ card, trust, conversations });

  const note = (message: string, sender: AgentId): void =>
    logger("warn", "inbound envelope passed over", { note: message, sender });

  /** An envelope that opens; null, with a note, when there is nothing to believe in it. */
  const open = (origin: Origin): Opened.Opened | null => {
    const opened = Opened.open(opener, origin);
    if ("packets" in opened) return opened;
    note(opened.problem, origin.envelope.senderAgentId);
    return null;
  };

  /** Packets that came to nothing: one line an envelope, however many it holds. */
  const noteSome = (message: string, count: number, sender: AgentId): void => {
    if (count > 0) logger("warn", "inbound packets passed over", { note: message, packets: count, sender });
  };

  /** The sender's card where the first packet is about a conversation that the sender is in, and it is the one that it names. */
  const cardAtHand = (turn: Turn, { envelope, packets }: Opened.Opened): AgentCard.AgentCard | null => {
    const [first] = packets;
    const named = first === undefined ? null : Packet.conversationOf(first);
    const conversation = named === null ? null : conversations.get(turn, named);
    const found = conversation?.members.cardOf(envelope.senderAgentId);
    return found !== undefined && Cards.digestOf(found) === envelope.senderCardDigest ? found : null;
  };

  /** The sender's card inside a membership that the envelope itself brings and that verifies. */
  const enclosedCard = ({ envelope, packets }: Opened.Opened): AgentCard.AgentCard | null => {
    for (const packet of packets) {
      const members = packet.kind === "proposal_packet" ? places.enclosedMembers(packet) : null;
      const enclosed = members?.cardOf(envelope.senderAgentId);
      if (enclosed !== undefined) return enclosed;
    }
    return null;
  };

  /**
   * Feeds one packet; says why when there is no conversation for it. A defect costs this packet alone: the mailbox and the
   * other conversations go on.
   */
  const feed = (turn: Turn, packet: Packet.Packet, origin: Origin): "fed" | "foreign" | "crowded" => {
    const before = turn.state;
    try {
      return turn.db.transaction(() => {
        const place = places.of(turn, packet, origin);
        if ("nowhere" in place) return place.nowhere;
        const { conversationId } = place;
        const conversation = conversations.get(turn, conversationId);
        if (conversation === null) throw new Error("the conversation of a packet is gone");
        conversations.feed(turn, conversationId, {
          kind: "packet",
          from: origin.envelope.senderAgentId,
          laneSequence: conversation.lane === origin.lane ? origin.sequence : null,
          packet,
        });
        return "fed";
      });
    } catch (error) {
      turn.state = before;
      if (isStoreFailure(error)) throw error;
      logger("error", "a packet met a defect and was dropped", { packet: packet.kind, error: String(error) });
      return "fed";
    }
  };

  /** The Router was caught in a lane: the others are shown, and the conversation of that lane has cause for a round. */
  const caught = (turn: Turn, { routerInstanceId, lane, sequence }: LaneHeads.Seen): void => {
    logger("error", "the Router signed two orders of one lane; the proof is kept", { lane, sequence });
    const conversationId = ConversationRows.idOfLane(turn.db, lane);
    if (conversationId === null) return;
    const packet = Equivocations.packetOf(turn.db, conversationId, { routerInstanceId, lane, sequence });
    turn.state = { ...turn.state, sends: [...turn.state.sends, { conversationId, to: "lane", packet }] };
    conversations.feedEach(turn, [conversationId], { kind: "wish-round" });
  };

  /** A proof that a member shows is believed by the Router's own two signatures, whoever shows it; false when it is none. */
  const takeProof = (turn: Turn, packet: Packet.EquivocationProof): boolean => {
    const conversationId = ConversationRows.idOfLane(turn.db, packet.lane);
    if (conversationId === null || conversationId !== packet.conversationId) return false;
    const verdict = Equivocations.take(turn.db, trust.verifier, routerKey, packet);
    if (verdict !== "new") return verdict === "known";
    logger("error", "a member showed that the Router signed two orders of one lane; the proof is kept", {
      lane: packet.lane,
      sequence: packet.sequence,
    });
    conversations.feedEach(turn, [conversationId], { kind: "wish-round" });
    return true;
  };

  /**
   * Whoever speaks, in its lane, of a conversation that is not here is asked once an envelope how that began: this agent's own
   * vote in the answer shows that it has forgotten. The sender alone is asked, so nobody can have others troubled.
   */
  const askAbout = (
    turn: Turn,
    packets: ReadonlyArray<Packet.Packet>,
    origin: Origin,
    sender: AgentCard.AgentCard,
  ): void => {
    if (packets.length === 0 || waitingIn(turn) >= waitingEnvelopesMax) return;
    const named = packets.map((packet) => places.askedAbout(turn, packet, origin)).find((id) => id !== null);
    if (named !== undefined) conversations.ask(turn, named, sender, origin.lane);
  };

  const takeOpened = (
    turn: Turn,
    opened: Opened.Opened,
    sender: AgentCard.AgentCard,
    isNew: boolean,
  ): void => {
    const { envelope, seen } = opened;
    if (Cards.digestOf(sender) !== envelope.senderCardDigest) {
      return note("it names another card of its sender", envelope.senderAgentId);
    }
    if (!Envelope.verifyText(trust.verifier, sender.signingKey, opened.envelopeText, envelope.signature)) {
      return note("its signature does not verify", envelope.senderAgentId);
    }
    if (isNew) {
      Cards.keep(turn.db, sender);
      releaseHeld(turn, sender.agentId);
    }
    if (seen !== null && Equivocations.compare(turn.db, trust.verifier, routerKey, seen)) caught(turn, seen);
    let questions = 0;
    let surplus = 0;
    const unfed: Array<Packet.Packet> = [];
    let crowded = 0;
    const give = (packet: Packet.Packet): void => {
      const fed = feed(turn, packet, opened);
      if (fed === "foreign") unfed.push(packet);
      if (fed === "crowded") crowded++;
    };
    for (const packet of opened.packets) {
      if (packet.kind === "equivocation_proof" && takeProof(turn, packet)) continue;
      const isTooMuch =
        isQuestion(packet) &&
        (++questions > questionsPerEnvelopeMax || waitingIn(turn) >= waitingEnvelopesMax);
      if (isTooMuch) surplus++;
      else give(packet);
    }
    // What stood before the proposal that made its conversation known counts as well: nobody says it again for seconds.
    const isProposal = ({ kind }: Packet.Packet): boolean => kind === "proposal_packet";
    if (opened.packets.some(isProposal)) {
      const again = unfed.splice(0);
      for (const packet of again) {
        if (isProposal(packet)) unfed.push(packet);
        else give(packet);
      }
    }
    askAbout(turn, unfed, opened, sender);
    noteSome("no known closed shape", opened.refused, sender.agentId);
    noteSome("more questions than are answered at once", surplus, sender.agentId);
    noteSome("of a conversation that this agent is not in", unfed.length, sender.agentId);
    noteSome("its sender has opened too many that are not certified", crowded, sender.agentId);
  };

  /** Takes in the envelopes of a sender that were held until its card was known. */
  const releaseHeld = (turn: Turn, sender: AgentId): void => {
    const known = Cards.byId(turn.db, sender);
    const rows = turn.db.all(
      "SELECT * FROM held_envelope WHERE sender_agent_id = ? ORDER BY sequence",
      sender,
    );
    turn.db.run("DELETE FROM held_envelope WHERE sender_agent_id = ?", sender);
    for (const row of rows) {
      const envelopeText = row["envelope"] as string;
      const opened = open({
        envelope: Envelope.decodeBytes(Buffer.from(envelopeText, "utf8")),
        envelopeText,
        lane: row["lane"] as Opaque32,
        sequence: Number(row["lane_sequence"]),
      });
      if (opened !== null && known !== null) takeOpened(turn, opened, known, false);
    }
  };

  const hold = (turn: Turn, { envelope, envelopeText, lane, sequence }: Opened.Opened): Arrival => {
    const sender = envelope.senderAgentId;
    const held = turn.db.get("SELECT count(*) AS held FROM held_envelope WHERE sender_agent_id = ?", sender);
    if (Number(held?.["held"]) >= Limits.heldEnvelopesPerSenderMax) {
      note("too many envelopes of an unknown sender are held", sender);
      return taken;
    }
    turn.db.run(
      "INSERT INTO held_envelope (sender_agent_id, lane, lane_sequence, envelope) VALUES (?, ?, ?, ?)",
      sender,
      lane,
      sequence,
      envelopeText,
    );
    return { kind: "held", sender };
  };

  return {
    take: (turn, delivery, { routerInstanceId, hasFormer }, own) => {
      const { lane, sequence, laneHead, signature, envelope, envelopeDigest } = delivery;
      const head = { routerInstanceId, lane, sequence, laneHead, signature };
      const continuity = LaneHeads.take(turn.db, head, envelopeDigest);
      if (continuity === "contradicts") return { kind: "contradiction" };
      if (continuity === "repeated") return taken;
      if (hasFormer) RouterTerms.compareWithFormer(turn.db, head);
      const conversationId = ConversationRows.idOfLane(turn.db, lane);
      if (continuity === "after-gap" && conversationId !== null) {
        conversations.feedEach(turn, [conversationId], { kind: "gap" });
      }
      if (own !== null && own.packets !== null) {
        for (const packet of own.packets) feed(turn, packet, delivery);
        return taken;
      }
      const opened = open(delivery);
      if (opened === null) return taken;
      const known = cardAtHand(turn, opened) ?? Cards.byId(turn.db, envelope.senderAgentId);
      const sender = known ?? enclosedCard(opened);
      if (sender === null) return hold(turn, opened);
      const strangers = places.strangersIn(turn, opened.packets, opened);
      takeOpened(turn, opened, sender, known === null);
      return { kind: "taken", strangers: strangers.filter((id) => id !== sender.agentId) };
    },
    takeAgain: (turn, { lane, sequence, laneHead, signature }, routerInstanceId) => {
      const isKnown = sequence <= (LaneHeads.last(turn.db, lane)?.sequence ?? 0);
      const head = { routerInstanceId, lane, sequence, laneHead, signature };
      return isKnown && LaneHeads.repeats(turn.db, head) ? taken : { kind: "contradiction" };
    },
    releaseHeld,
  };
};
