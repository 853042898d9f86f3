// The durable inbox: one immutable item a row, one token for ever, tombstones kept. Functions over the store; writes
// join the caller's transaction. Knows nothing of how items came to be, nor of who reads them.
// Implements ING-08, ING-20 to ING-29.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { Item } from "@social-harness/protocol/delivery/Item";
import {
  type CollectiveId,
  type ConversationId,
  DeliveryToken,
  deliveryTokenOf,
  type EventId,
  type RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { OperationError } from "../operations/OperationError.ts";
import type { Delivery, InboxPage } from "../operations/Operations.ts";
import type { Database, Row } from "../store/Database.ts";
import * as InboxCursor from "./InboxCursor.ts";

/** Cryptographic randomness, passed in: exactly `byteCount` fresh bytes. */
export type Random = (byteCount: number) => Uint8Array;

/**
 * The largest item: content of a post at its limit, 32 addresses, ids and field names. Items are made here, so the
 * bound only keeps a damaged row from being read without end.
 */
const itemBounds = { bytesMax: Limits.contentBytesMax + 8_192, depthMax: Limits.jsonDepthMax };
const decodeItem = Closed.bytesDecoder(Item, itemBounds);

const cursorKeySetting = "inbox_cursor_key";

/** Makes the key that authenticates cursors unless the store has one. Call once at start-up, inside a transaction. */
export const prepare = (db: Database, random: Random): void => {
  if (db.get("SELECT 1 FROM setting WHERE name = ?", cursorKeySetting) !== undefined) return;
  db.run("INSERT INTO setting (name, value) VALUES (?, ?)", cursorKeySetting, random(32));
};

export interface Admission {
  readonly item: Item;
  /** Where the item came from; absent for what this endpoint tells its own host. */
  readonly conversationId?: ConversationId;
  readonly recordHash?: RecordHash;
  /** Of a post that asks for an answer, which only a process that remembers the request can take: see Recovery.ts. */
  readonly requestId?: CollectiveId;
  /** The owner's words about it, stored beside it. */
  readonly guidance?: string;
  /** The owner released it from a hold. */
  readonly released?: true;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Random;
}

/** The canonical text of an item, as it is stored. */
export const textOf = (item: Item): string =>
  CanonicalJson.encode(item as CanonicalJson.Json, itemBounds.depthMax);

/** Binds a fresh token to the item's canonical bytes. A record is admitted once: a second time breaks a constraint. */
export const admit = (db: Database, admission: Admission): DeliveryToken => {
  const token = DeliveryToken.fromBytes(admission.random(32));
  const bytes = textOf(admission.item);
  db.run(
    `INSERT INTO inbox
       (delivery_token, item, item_bytes, guidance, released, conversation_id, record_hash, request_id, admitted_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    token,
    bytes,
    Buffer.byteLength(bytes, "utf8"),
    admission.guidance ?? null,
    admission.released === true ? 1 : 0,
    admission.conversationId ?? null,
    admission.recordHash ?? null,
    admission.requestId ?? null,
    admission.now,
  );
  return token;
};

/** Failures of the store itself, as the operations name them; every other error is a defect. */
const reading = <A>(body: () => A): A => {
  try {
    return body();
  } catch (error) {
    const isSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
    if (!isSqlite && !(error instanceof DecodeError)) throw error;
    throw new OperationError("persistence-failed", "the inbox cannot be read", { cause: error });
  }
};

/** What stands beside an item and never in it: the owner's words, and that the owner released it. */
const withOwners = <A extends object>(
  value: A,
  { guidance, released }: Row,
): A & Pick<Delivery, "guidance" | "released"> => ({
  ...value,
  ...(guidance === null ? {} : { guidance: guidance as string }),
  ...(released === 1 ? { released: true } : {}),
});

/** An item as its canonical text stands in the store. Throws `DecodeError` for a damaged one. */
export const itemOfText = (text: string): Item => decodeItem(Buffer.from(text, "utf8"));

const itemOf = (row: Row): Item => itemOfText(row.item as string);

const deliveryOf = (row: Row): Delivery =>
  withOwners({ deliveryToken: row.delivery_token as DeliveryToken, item: itemOf(row) }, row);

const cursorKeyOf = (db: Database): Uint8Array => {
  const row = db.get("SELECT value FROM setting WHERE name = ?", cursorKeySetting);
  if (row === undefined) throw new Error("the inbox was not prepared: its cursor key is missing");
  return row.value as Uint8Array;
};

const lastSequence = (db: Database): number =>
  Number(db.get("SELECT coalesce(max(sequence), 0) AS last FROM inbox")?.last);

/** Rows of one page, chosen in the index alone: sizes first, then only the payloads that fit. */
const fitting = (db: Database, { after, through }: InboxCursor.Position) => {
  const candidates = db.all(
    `SELECT sequence, item_bytes FROM inbox INDEXED BY inbox_unread
     WHERE acknowledged_at IS NULL AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ? + 0`,
    after,
    through,
    Limits.inboxPageItemsMax + 1,
  );
  const chosen: Array<number> = [];
  let bytes = 0;
  for (const row of candidates.slice(0, Limits.inboxPageItemsMax)) {
    bytes += Number(row.item_bytes);
    if (chosen.length > 0 && bytes > Limits.inboxPageBytesMax) break;
    chosen.push(Number(row.sequence));
  }
  return { chosen, hasMore: candidates.length > chosen.length };
};

/**
 * One page of unacknowledged items in the order of their admission. Without a cursor it begins a traversal, which ends
 * with what is in the inbox now. Throws `invalid-continuation` or `persistence-failed`.
 */
export const page = (db: Database, cursor?: string): InboxPage =>
  reading(() => {
    const key = cursorKeyOf(db);
    const position =
      cursor === undefined ? { after: 0, through: lastSequence(db) } : InboxCursor.decode(key, cursor);
    if (position === null) {
      throw new OperationError("invalid-continuation", "the cursor is not one of this inbox");
    }
    const { chosen, hasMore } = fitting(db, position);
    const items = chosen.map((sequence) =>
      deliveryOf(
        db.get(
          "SELECT delivery_token, item, guidance, released FROM inbox WHERE sequence = ?",
          sequence,
        ) as Row,
      ),
    );
    if (!hasMore) return { items };
    const after = chosen.at(-1) as number;
    return { items, nextCursor: InboxCursor.encode(key, { after, through: position.through }) };
  });

/** Turns an item into its tombstone. Again is fine; throws `unknown-delivery` for a token that was never minted. */
export const acknowledge = (db: Database, token: DeliveryToken, now: number): void =>
  reading(() => {
    const changed = db.run(
      "UPDATE inbox SET acknowledged_at = ? WHERE delivery_token = ? AND acknowledged_at IS NULL",
      now,
      token,
    );
    if (changed === 0 && db.get("SELECT 1 FROM inbox WHERE delivery_token = ?", token) === undefined) {
      throw new OperationError("unknown-delivery", "no item was ever delivered under that token");
    }
  });

/** The item of an event id, acknowledged or not. Throws `unknown-event`. */
export const readEvent = (db: Database, eventId: EventId): Omit<Delivery, "deliveryToken"> =>
  reading(() => {
    const row = db.get(
      "SELECT item, guidance, released FROM inbox WHERE delivery_token = ?",
      deliveryTokenOf(eventId),
    );
    if (row === undefined) throw new OperationError("unknown-event", "no item has that event id");
    return withOwners({ item: itemOf(row) }, row);
  });

export interface Unread {
  readonly delivery: Delivery;
  /** Epoch milliseconds. */
  readonly admittedAt: number;
}

/** The unacknowledged item that was admitted first; null when there is none. Throws `persistence-failed`. */
export const oldestUnread = (db: Database): Unread | null =>
  reading(() => {
    const first = db.get(
      "SELECT min(sequence) AS sequence FROM inbox INDEXED BY inbox_unread WHERE acknowledged_at IS NULL",
    );
    if (first === undefined || first.sequence === null) return null;
    const row = db.get(
      "SELECT delivery_token, item, guidance, released, admitted_at FROM inbox WHERE sequence = ?",
      Number(first.sequence),
    ) as Row;
    return { delivery: deliveryOf(row), admittedAt: Number(row.admitted_at) };
  });

/** Unacknowledged items. Counted in the partial index: tombstones cost nothing. */
export const unreadCount = (db: Database): number =>
  Number(
    db.get("SELECT count(*) AS unread FROM inbox INDEXED BY inbox_unread WHERE acknowledged_at IS NULL")
      ?.unread,
  );
