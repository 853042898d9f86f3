// What the Router remembers: lanes, mailboxes, send counts and the rows that recognise a repeated send. Accepting an
// envelope is one unit of the log's transaction, so its entry, copies, lane head and count are on disk together or not
// at all. Knows no connection and trusts that envelopes were verified. Implements RTR-30, RTR-34, RTR-37 to RTR-39 and RTR-48.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { Opaque32, type AgentId, type RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { LogTransaction, SqliteLog } from "@social-harness/log/SqliteLog";
import * as Schema from "effect/Schema";
import * as Limits from "../Limits.ts";
import type * as Envelope from "../wire/Envelope.ts";
import * as Frames from "../wire/Frames.ts";
import * as Lane from "../wire/Lane.ts";
import { makeRecentBodies } from "./RecentBodies.ts";
import { component, migrations, stream } from "./RouterSchema.ts";
import { makeStatements, type AgentRow } from "./RouterStatements.ts";

/** A verified envelope on its way into the log. */
export interface VerifiedSend {
  readonly envelope: Envelope.Envelope;
  readonly envelopeText: string;
  readonly envelopeDigest: Opaque32;
}

/** One recipient's place for an accepted envelope. `stored` is false where a full mailbox lost its copy. */
export interface Copy {
  readonly agentId: AgentId;
  readonly cursor: number;
  readonly stored: boolean;
}

export type SendResult =
  | {
      readonly kind: "accepted";
      readonly lane: Opaque32;
      readonly sequence: number;
      /** The entry's place in the log; null for a repeat of what was accepted before. */
      readonly position: number | null;
      /** What to hand to live recipients; empty for a repeat of what was accepted before. */
      readonly copies: ReadonlyArray<Copy>;
      /** The delivery without its cursor, see `deliveryOf`. */
      readonly body: Buffer;
    }
  | { readonly kind: "rejected"; readonly reason: "idempotency-conflict" | "mailbox-full" };

export interface MailboxState {
  readonly acknowledgedCursor: number;
  readonly tailCursor: number;
  readonly acceptedSends: number;
}

export interface MailboxRow {
  readonly cursor: number;
  readonly position: number;
  readonly bytes: number;
}

export interface RouterStore {
  readonly routerInstanceId: RouterInstanceId;
  /** Resolves when the result is on disk; rejects with `LogError` when it could not get there. */
  readonly accept: (send: VerifiedSend) => Promise<SendResult>;
  /** Committed state only. An agent without a row has the state of an empty mailbox. */
  readonly mailbox: (agentId: AgentId) => MailboxState;
  /** The stored copies of a mailbox at cursors >= `from`, in order. */
  readonly copies: (agentId: AgentId, from: number, limit: number) => ReadonlyArray<MailboxRow>;
  /** A body by its position, or null when it is gone. */
  readonly body: (position: number) => Promise<Buffer | null>;
  /** Moves cursors forward, and erases bodies that nobody waits for any more. */
  readonly acknowledge: (cursors: ReadonlyMap<AgentId, number>) => Promise<void>;
  /** Rejects with `LogError` when the log does not answer at all. */
  readonly look: () => Promise<void>;
  /** Drops at most `limit` bodies and rows that are past their time; the number dropped. */
  readonly expire: (limit: number) => Promise<number>;
}

export interface RouterStoreOptions {
  readonly log: SqliteLog;
  readonly signer: Signer;
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
  readonly mailboxBytesMax: number;
  readonly retentionMs: number;
  readonly dedupeMs: number;
}

const decodeFirstEntry = Closed.bytesDecoder(
  Schema.Struct({ kind: Schema.Literal("router_log"), logId: Opaque32.schema }),
  { bytesMax: 256, depthMax: 1 },
);

/** The random id of this log: made with its first entry, read from it ever after. */
const logIdOf = async (log: SqliteLog, random: RouterStoreOptions["random"]): Promise<Opaque32> => {
  const first = CanonicalJson.encodeBytes({ kind: "router_log", logId: Opaque32.fromBytes(random(32)) });
  await log.append(stream, first, { expectedTail: 0 });
  const [entry] = await log.read(stream, 1, 1);
  if (entry === undefined || entry.position !== 1)
    throw new Error("the Router's log has lost its first entry");
  return decodeFirstEntry(entry.bytes).logId;
};

/** A log entry is `{"acceptedAt":N,` and then what every recipient's delivery holds behind its cursor. */
const entryOf = (acceptedAt: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`{"acceptedAt":${acceptedAt},`), body]);

const bodyOfEntry = (bytes: Uint8Array): Buffer => {
  const entry = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return entry.subarray(entry.indexOf(",") + 1);
};

/** The frame that delivers a body at one recipient's cursor. */
export const deliveryOf = (cursor: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`{"cursor":${cursor},`), body]);

/** An append that sets no condition has one result. */
const appendIn = (transaction: LogTransaction, entry: Uint8Array): number => {
  const result = transaction.append(stream, entry);
  if (result.kind !== "appended") throw new Error(`an unconditional append ended as ${result.kind}`);
  return result.position;
};

export const openRouterStore = async (options: RouterStoreOptions): Promise<RouterStore> => {
  const { log, signer, clock } = options;
  log.migrate(component, migrations);
  const routerInstanceId = Lane.routerInstanceIdOf(signer.publicKey, await logIdOf(log, options.random));
  const statements = makeStatements(log.database);
  const recent = makeRecentBodies(Limits.recentBodiesBytesMax);

  /** The next place in the lane, signed. */
  const extendLane = (lane: Opaque32, envelopeDigest: Opaque32) => {
    const last = statements.lane(lane);
    const sequence = (last?.sequence ?? 0) + 1;
    const laneHead = Lane.laneHeadOf({ lane, previous: last?.laneHead ?? null, sequence, envelopeDigest });
    const signature = Lane.sign(signer, { routerInstanceId, lane, sequence, laneHead });
    return { laneKey: statements.putLane(lane, sequence, laneHead), lane, sequence, laneHead, signature };
  };

  const hasRoom = (agent: AgentRow, bytes: number): boolean =>
    agent.waitingBytes + bytes <= options.mailboxBytesMax;

  /** Gives every recipient its next cursor, and a copy where its mailbox has room. */
  const fanOut = (recipients: ReadonlyArray<AgentRow>, position: number, bytes: number): Array<Copy> =>
    recipients.map((recipient) => {
      const cursor = recipient.tailCursor + 1;
      const stored = hasRoom(recipient, bytes);
      if (stored) statements.putCopy(recipient.agent, cursor, position, bytes);
      statements.advanceTail(recipient.agent, cursor, stored ? bytes : 0);
      return { agentId: recipient.agentId, cursor, stored };
    });

  const acceptIn = (transaction: LogTransaction, send: VerifiedSend): SendResult => {
    const { envelope, envelopeText, envelopeDigest } = send;
    const sender = statements.agent(envelope.senderAgentId);
    const known = statements.send(sender.agent, envelope.messageId);
    if (known !== undefined) {
      return known.envelopeDigest === envelopeDigest
        ? {
            kind: "accepted",
            lane: known.lane,
            sequence: known.sequence,
            position: null,
            copies: [],
            body: Buffer.alloc(0),
          }
        : { kind: "rejected", reason: "idempotency-conflict" };
    }
    const recipients = envelope.recipientAgentIds.map((agentId) =>
      agentId === sender.agentId ? sender : statements.agent(agentId),
    );
    const bytes = envelopeText.length;
    const only = recipients.length === 1 ? recipients[0] : undefined;
    if (only !== undefined && !hasRoom(only, bytes)) return { kind: "rejected", reason: "mailbox-full" };

    const now = clock();
    const head = extendLane(Lane.laneOf(envelope.recipientAgentIds), envelopeDigest);
    const body = Buffer.from(Frames.encodeDeliveryBody({ envelopeText, ...head }), "latin1");
    const position = appendIn(transaction, entryOf(now, body));
    const copies = fanOut(recipients, position, bytes);
    const stored = copies.filter((copy) => copy.stored).length;
    statements.putBody(position, now, stored);
    statements.putSend(sender.agent, envelope.messageId, envelopeDigest, head.laneKey, head.sequence, now);
    return { kind: "accepted", lane: head.lane, sequence: head.sequence, position, copies, body };
  };

  const eraseDone = (transaction: LogTransaction): void => {
    for (const position of statements.takeDone()) transaction.erase(stream, position, position);
  };

  return {
    routerInstanceId,
    accept: async (send) => {
      const result = await log.transact((transaction) => acceptIn(transaction, send));
      if (result.kind === "accepted" && result.position !== null) recent.put(result.position, result.body);
      return result;
    },
    mailbox: (agentId) =>
      statements.agentIfKnown(agentId) ?? { acknowledgedCursor: 0, tailCursor: 0, acceptedSends: 0 },
    copies: statements.copies,
    body: async (position) => {
      const held = recent.get(position);
      if (held !== undefined) return held;
      const [entry] = await log.read(stream, position, 1);
      return entry === undefined || entry.position !== position ? null : bodyOfEntry(entry.bytes);
    },
    look: async () => void (await log.tail(stream)),
    acknowledge: (cursors) =>
      log.transact((transaction) => {
        for (const [agentId, cursor] of cursors) statements.acknowledge(agentId, cursor);
        eraseDone(transaction);
      }),
    expire: (limit) =>
      log.transact((transaction) => {
        const bodies = statements.expireBodies(clock() - options.retentionMs, limit);
        eraseDone(transaction);
        return bodies + statements.expireSends(clock() - options.dedupeMs, limit);
      }),
  };
};
