// The private queue between classification and inbox: each item once, in the order of its conversation, until it is admitted or
// held. Functions over the store; writes join the caller's transaction. Knows no rule. Implements ING-140, ING-143 and ING-144.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { CollectiveId, ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Inbox from "../ingress/Inbox.ts";
import type { Database, Row } from "../store/Database.ts";
import * as HoldId from "./HoldId.ts";
import * as Limits from "./Limits.ts";
import type { Verdict } from "./Verdict.ts";

export interface Queued {
  readonly sequence: number;
  readonly conversationId: ConversationId;
  /** null for what this endpoint tells its own host: it is not judged, and only waits for its turn. */
  readonly recordHash: RecordHash | null;
  readonly requestId: CollectiveId | null;
  readonly item: Item;
  /** Epoch milliseconds. */
  readonly queuedAt: number;
}

const ofRow = (row: Row): Queued => ({
  sequence: Number(row["sequence"]),
  conversationId: row["conversation_id"] as ConversationId,
  recordHash: row["record_hash"] as RecordHash | null,
  requestId: row["request_id"] as CollectiveId | null,
  item: Inbox.itemOfText(row["item"] as string),
  queuedAt: Number(row["queued_at"]),
});

export const add = (
  db: Database,
  entry: { readonly conversationId: ConversationId } & Pick<
    Inbox.Admission,
    "item" | "recordHash" | "requestId" | "now"
  >,
): void => {
  db.run(
    `INSERT INTO firewall_queue (conversation_id, record_hash, request_id, item, queued_at)
     VALUES (?, ?, ?, ?, ?)`,
    entry.conversationId,
    entry.recordHash ?? null,
    entry.requestId ?? null,
    Inbox.textOf(entry.item),
    entry.now,
  );
};

export const isEmpty = (db: Database): boolean =>
  db.get("SELECT 1 FROM firewall_queue LIMIT 1") === undefined;

export const count = (db: Database): number =>
  Number(db.get("SELECT count(*) AS n FROM firewall_queue")?.["n"]);

/** Whether something of a conversation waits, so that nothing may pass it. */
export const has = (db: Database, conversationId: ConversationId): boolean =>
  db.get("SELECT 1 FROM firewall_queue WHERE conversation_id = ? LIMIT 1", conversationId) !== undefined;

/** Those in which something waits, the one first that has waited longest. */
export const conversations = (db: Database): ReadonlyArray<ConversationId> =>
  db
    .all(
      `SELECT conversation_id, min(sequence) AS first FROM firewall_queue
       GROUP BY conversation_id ORDER BY first`,
    )
    .map((row) => row["conversation_id"] as ConversationId);

/** Who wrote what waits longest in a conversation; null where nothing waits, or something of this endpoint itself. */
export const firstAuthor = (db: Database, conversationId: ConversationId): string | null => {
  const row = db.get(
    `SELECT author_agent_id AS author FROM firewall_queue LEFT JOIN record USING (record_hash)
     WHERE firewall_queue.conversation_id = ? ORDER BY firewall_queue.sequence LIMIT 1`,
    conversationId,
  );
  return (row?.["author"] as string | null | undefined) ?? null;
};

/**
 * The next items of a conversation: at most `countMax`, and no more of them than are read at once. Throws `DecodeError` where the
 * very first cannot be read.
 */
export const next = (
  db: Database,
  conversationId: ConversationId,
  countMax: number,
): ReadonlyArray<Queued> => {
  const rows = db.all(
    "SELECT * FROM firewall_queue WHERE conversation_id = ? ORDER BY sequence LIMIT ?",
    conversationId,
    countMax,
  );
  const entries: Array<Queued> = [];
  let characters = 0;
  for (const row of rows) {
    characters += String(row["item"]).length;
    if (characters > Limits.runCharactersMax && entries.length > 0) break;
    try {
      entries.push(ofRow(row));
    } catch (error) {
      if (!(error instanceof DecodeError) || entries.length === 0) throw error;
      break;
    }
  }
  return entries;
};

const remove = (db: Database, { sequence }: Queued): boolean =>
  db.run("DELETE FROM firewall_queue WHERE sequence = ?", sequence) === 1;

export interface Writing {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Inbox.Random;
}

const hold = (
  db: Database,
  { conversationId, recordHash, requestId, item, queuedAt }: Queued,
  { reason, rule, explanation }: Extract<Verdict, { verdict: "hold" }>,
  { now, random }: Writing,
): HoldId.HoldId => {
  const holdId = HoldId.fromBytes(random(HoldId.byteCount));
  db.run(
    `INSERT INTO firewall_hold
       (hold_id, conversation_id, record_hash, request_id, item, reason, rule, explanation, queued_at, held_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    holdId,
    conversationId,
    recordHash,
    requestId,
    Inbox.textOf(item),
    reason,
    rule ?? null,
    explanation ?? null,
    queuedAt,
    now,
  );
  return holdId;
};

export type Settled =
  { readonly kind: "admitted" } | { readonly kind: "held"; readonly holdId: HoldId.HoldId };

/** Ends the wait of an item: into the inbox with its guidance, or into a hold. Throws when it does not wait any more. */
export const settle = (db: Database, entry: Queued, verdict: Verdict, writing: Writing): Settled => {
  if (!remove(db, entry)) throw new Error("a verdict about an item that is not queued");
  if (verdict.verdict === "hold") return { kind: "held", holdId: hold(db, entry, verdict, writing) };
  const { conversationId, recordHash, requestId, item } = entry;
  Inbox.admit(db, {
    item,
    ...(recordHash === null ? {} : { conversationId, recordHash }),
    ...(requestId === null ? {} : { requestId }),
    ...(verdict.guidance === undefined ? {} : { guidance: verdict.guidance }),
    ...writing,
  });
  return { kind: "admitted" };
};
