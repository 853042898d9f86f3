// Finished envelopes on their way to the Router: packed and sealed inside the turn that causes them, sent in order after
// its commit, forgotten when the Router accepted them. Sends the same bytes again until then. Implements OPS-04.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { type ConversationId, MessageId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { Logger } from "@social-harness/router/Logger";
import type { RouterClient } from "@social-harness/router/client/RouterClient";
import type { Sealer } from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import type { Asked, Send } from "../conversations/Conversations.ts";
import { type Database, isStoreFailure } from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";
import * as Cards from "./Cards.ts";
import * as LaneHeads from "./LaneHeads.ts";
import { type OwnCopies, packetBytesKeptMax } from "./OwnCopies.ts";
import { pack } from "./Parcels.ts";

export interface PackingOptions {
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  readonly sealer: Sealer;
  readonly random: (byteCount: number) => Uint8Array;
  readonly ownCopies: OwnCopies;
}

/** One row: an envelope, its place among all that were ever enqueued (from 1), and its text. */
export interface Enqueued {
  readonly sequence: number;
  readonly messageId: MessageId;
  readonly text: string;
}

/**
 * Turns a turn's sends into outbox rows and returns them. Runs inside the turn's transaction, at its end. Remembers what the
 * lane will bring back; a group's proposal is awaited, because its author votes by its place in the lane.
 */
export const enqueue = (
  db: Database,
  sends: ReadonlyArray<Send>,
  conversationOf: (conversationId: ConversationId) => Asked,
  { card, signer, sealer, random, ownCopies }: PackingOptions,
): ReadonlyArray<Enqueued> => {
  if (sends.length === 0) return [];
  const rows: Array<Enqueued> = [];
  const parcels = pack(sends);
  let sequence = Settings.integer(db, "enqueued_sends");
  for (const parcel of parcels) {
    const { members, lane } = conversationOf(parcel.conversationId);
    const seen = LaneHeads.last(db, lane);
    const plaintext = `{"packets":[${parcel.texts.join(",")}],"seen":${
      seen === null ? "null" : CanonicalJson.encode(seen)
    }}`;
    const cards =
      parcel.to === "lane" ? members.cards : members.cards.filter(({ agentId }) => agentId === parcel.to);
    const messageId = MessageId.fromBytes(random(16));
    const { text } = Envelope.finish(signer, {
      messageId,
      recipientAgentIds: cards.map(({ agentId }) => agentId),
      sealed: sealer.seal(cards, Buffer.from(plaintext, "utf8")),
      senderAgentId: card.agentId,
      senderCardDigest: Cards.digestOf(card),
    });
    sequence += 1;
    db.run("INSERT INTO outbox (sequence, message_id, envelope) VALUES (?, ?, ?)", sequence, messageId, text);
    rows.push({ sequence, messageId, text });
    if (parcel.to !== "lane") continue;
    ownCopies.remember(messageId, {
      envelopeDigest: Envelope.digestOfText(text),
      packets: parcel.bytes <= packetBytesKeptMax ? parcel.packets : null,
      isAwaited: parcel.hasProposal && members.cards.length > 2,
    });
  }
  Settings.put(db, "enqueued_sends", sequence);
  return rows;
};

/** Envelopes between the store and the Router at one time. */
const inFlightMax = 64;

export interface OutboxSender {
  /**
   * Sends what the store holds and this process has not sent. Call after every commit with the rows that it added: unless
   * others wait before them, they go as they are at hand.
   */
  readonly pump: (added?: ReadonlyArray<Enqueued>) => void;
  /** Rows that the Router accepted and that a turn may delete. The same ones until `forgotten` says that it has. */
  readonly accepted: () => ReadonlyArray<number>;
  readonly forgotten: () => void;
  /** Envelopes that this process has sent and that have no verdict yet. */
  readonly underway: () => number;
}

export interface OutboxSenderOptions {
  readonly db: Database;
  readonly logger: Logger;
  readonly send: RouterClient["send"];
  /** Whether anything may leave at all. */
  readonly maySend: () => boolean;
  readonly onAccepted: () => void;
}

export const createOutboxSender = (options: OutboxSenderOptions): OutboxSender => {
  const { db, logger } = options;
  let lastSent = 0;
  let inFlight = 0;
  /** Envelopes ever enqueued. */
  let enqueued = Settings.integer(db, "enqueued_sends");
  /** Whether everything up to `lastSent` and nothing beyond it has been sent: then the store need not be asked. */
  let isLevel = false;
  const accepted: Array<number> = [];
  let named = 0;

  const send = ({ sequence, messageId, text }: Enqueued): void => {
    inFlight++;
    lastSent = sequence;
    void options.send(text, messageId).then((outcome) => {
      inFlight--;
      if (outcome.kind === "rejected") {
        if (outcome.reason === "unavailable") return;
        logger("error", "the Router refused an envelope for good", { reason: outcome.reason, messageId });
      }
      accepted.push(sequence);
      options.onAccepted();
      pump();
    });
  };

  const rowsAfter = (last: number, room: number): ReadonlyArray<Enqueued> =>
    db
      .all(
        "SELECT sequence, message_id, envelope FROM outbox WHERE sequence > ? ORDER BY sequence LIMIT ? + 0",
        last,
        room,
      )
      .map((row) => ({
        sequence: Number(row["sequence"]),
        messageId: row["message_id"] as MessageId,
        text: row["envelope"] as string,
      }));

  /** What is to be sent next; null while the store cannot be read, which the next pump asks again. */
  const waiting = (room: number): ReadonlyArray<Enqueued> | null => {
    try {
      return rowsAfter(lastSent, room);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      isLevel = false;
      return null;
    }
  };

  const pump = (added: ReadonlyArray<Enqueued> = []): void => {
    enqueued = added.at(-1)?.sequence ?? enqueued;
    const room = inFlightMax - inFlight;
    if (room <= 0 || (isLevel && lastSent === enqueued) || !options.maySend()) return;
    const isAtHand = isLevel && added[0]?.sequence === lastSent + 1;
    const rows = isAtHand ? added.slice(0, room) : waiting(room);
    if (rows === null) return;
    for (const row of rows) send(row);
    isLevel = rows.length < room || lastSent === enqueued;
    if (isLevel) lastSent = enqueued;
  };

  return {
    pump,
    accepted: () => {
      named = accepted.length;
      return accepted;
    },
    forgotten: () => {
      accepted.splice(0, named);
      named = 0;
    },
    underway: () => inFlight,
  };
};

/**
 * Drops what waits: an old copy of a store must not say again what it once meant to. Sequences only grow, so a sender that
 * goes on looks for what comes after.
 */
export const drop = (db: Database): void => {
  db.run("DELETE FROM outbox");
};

/** Forgets envelopes that the Router has taken over. A repeated one would only meet its own acceptance again. */
export const forget = (db: Database, sequences: ReadonlyArray<number>): void => {
  for (const sequence of sequences) db.run("DELETE FROM outbox WHERE sequence = ?", sequence);
};
