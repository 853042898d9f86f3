// Whether what this agent sends goes the whole way: a question to itself, sealed, over outbox, Router and mailbox, and one to
// a member of a conversation that it has. Both are questions of the protocol that change nothing where they are answered:
// one is about a conversation that nobody has, the other asks for what follows a record that nobody has. Implements RUN-190.

import type { CatchUpPage, Packet } from "@social-harness/protocol/conversation/Packet";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import type { Delivery } from "@social-harness/router/client/RouterClient";
import type { Opener } from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import * as Lane from "@social-harness/router/wire/Lane";
import type { Conversations, Send, Turn, Work } from "../conversations/Conversations.ts";
import type { Timers } from "../conversations/Timers.ts";
import type { Database } from "../store/Database.ts";
import type * as Turns from "../store/Turns.ts";
import * as Opened from "./Opened.ts";

export type Trip =
  | { readonly kind: "returned"; readonly milliseconds: number }
  /** Nothing could leave. */
  | { readonly kind: "not-connected" }
  /** It left, and nothing came back in ten seconds. */
  | { readonly kind: "silent" }
  /** There is no certified conversation with that agent. */
  | { readonly kind: "no-conversation" };

export interface Canary {
  /** To the named agent, or to this one. */
  readonly send: (to: AgentName | null) => Promise<Trip>;
  /** Looks, without taking anything, whether a delivery is what is waited for. */
  readonly see: (delivery: Pick<Delivery, "envelope" | "envelopeText" | "lane" | "sequence">) => void;
}

export interface CanaryOptions {
  readonly card: AgentCard;
  readonly verifier: Verifier;
  readonly opener: Opener;
  readonly turns: Turns.Turns<Work>;
  readonly conversations: Conversations;
  readonly mayEnqueue: () => boolean;
  readonly timers: Pick<Timers, "after">;
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
}

const waitMs = 10_000;

interface Waiting {
  readonly from: AgentCard;
  readonly done: () => void;
}

const isWith = (address: string, name: AgentName): boolean =>
  address === `agent:${name}` || (address.startsWith("group:") && address.slice(6).split(",").includes(name));

/** The conversation in which an agent is asked: the direct one where there is one, which stands first. */
const conversationWith = (db: Database, name: AgentName): ConversationId | null => {
  for (const row of db.iterate(
    "SELECT conversation_id, address FROM conversation WHERE head_height IS NOT NULL ORDER BY address",
  )) {
    if (isWith(row["address"] as string, name)) return row["conversation_id"] as ConversationId;
  }
  return null;
};

/** What a packet answers, where it answers anything. */
const answeredBy = (packet: Packet): CatchUpPage["afterRecordHash"] => {
  if (packet.kind === "record_request") return packet.recordHash;
  return packet.kind === "catch_up_page" ? packet.afterRecordHash : null;
};

export const createCanary = (options: CanaryOptions): Canary => {
  const { card, verifier, opener, turns, conversations, timers, clock, random } = options;
  const waiting = new Map<RecordHash, Waiting>();

  const say = (turn: Turn, send: Send): void => {
    turn.state = { ...turn.state, sends: [...turn.state.sends, send] };
  };

  const askSelf = (turn: Turn, recordHash: RecordHash): AgentCard => {
    const conversationId = ConversationId.fromBytes(random(32));
    const nowhere = { lane: Lane.laneOf([card.agentId]), members: { cards: [card] } };
    turn.state = { ...turn.state, asked: new Map(turn.state.asked).set(conversationId, nowhere) };
    say(turn, { conversationId, to: "lane", packet: { kind: "record_request", conversationId, recordHash } });
    return card;
  };

  const askPeer = (turn: Turn, name: AgentName, knownRecordHash: RecordHash): AgentCard | null => {
    const conversationId = conversationWith(turn.db, name);
    const conversation = conversationId === null ? null : conversations.get(turn, conversationId);
    const peer = conversation?.members.cards.find(({ agentName }) => agentName === name);
    if (conversationId === null || conversation === null || peer === undefined) return null;
    const { anchor } = conversation.state;
    const packet: Packet = {
      kind: "catch_up_request",
      conversationId,
      knownRecordHash,
      knownAnchorHash: anchor?.anchorHash ?? null,
    };
    say(turn, { conversationId, to: peer.agentId, packet });
    return peer;
  };

  return {
    send: async (to) => {
      if (!options.mayEnqueue()) return { kind: "not-connected" };
      const nonce = RecordHash.fromBytes(random(32));
      const began = clock();
      const answer = Promise.withResolvers<boolean>();
      const stop = timers.after(waitMs, () => answer.resolve(false));
      try {
        const asked = await turns.run((turn) => {
          const from = to === null || to === card.agentName ? askSelf(turn, nonce) : askPeer(turn, to, nonce);
          if (from !== null) waiting.set(nonce, { from, done: () => answer.resolve(true) });
          return from;
        });
        if (asked === null) return { kind: "no-conversation" };
        if (!(await answer.promise)) return { kind: "silent" };
        // Turns run in order: after this one the delivery is on the disk.
        await turns.run(() => undefined);
        return { kind: "returned", milliseconds: Math.max(0, clock() - began) };
      } finally {
        stop();
        waiting.delete(nonce);
      }
    },
    see: (delivery) => {
      const { envelope, envelopeText } = delivery;
      if (waiting.size === 0 || envelope.recipientAgentIds.length !== 1) return;
      const opened = Opened.open(opener, delivery);
      if (!("packets" in opened)) return;
      for (const packet of opened.packets) {
        const nonce = answeredBy(packet);
        const waiter = nonce === null ? undefined : waiting.get(nonce);
        const isTheirs =
          waiter?.from.agentId === envelope.senderAgentId &&
          Envelope.verifyText(verifier, waiter.from.signingKey, envelopeText, envelope.signature);
        if (isTheirs) waiter.done();
      }
    },
  };
};
