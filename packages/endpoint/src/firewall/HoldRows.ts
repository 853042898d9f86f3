// What is held, as rows: listed, read and ended for the owner. Functions over the store; writes join the caller's transaction.
// Implements ING-161 to ING-165.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { CollectiveId, ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Inbox from "../ingress/Inbox.ts";
import type { Ending, Hold, HoldContent, HoldEnded, HoldPage } from "../operations/Holds.ts";
import { OperationError } from "../operations/OperationError.ts";
import type { Database, Row } from "../store/Database.ts";
import type { HoldId } from "./HoldId.ts";
import * as Limits from "./Limits.ts";
import * as Queue from "./Queue.ts";
import type { HoldReason } from "./Verdict.ts";

const readable = <A>(body: () => A): A => {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new OperationError("persistence-failed", "a held item cannot be read", { cause: error });
  }
};

const utc = (ms: unknown): string => new Date(Number(ms)).toISOString();

const columns = "firewall_hold.*, octet_length(item) AS bytes";

const itemOf = (row: Row): Exclude<Item, { readonly kind: "operationFailed" }> => {
  const item = Inbox.itemOfText(String(row["item"]));
  if (item.kind === "operationFailed") throw new DecodeError("schema", "what is held is no message");
  return item;
};

const holdOf = (row: Row): Hold => {
  const { kind, message } = itemOf(row);
  return {
    holdId: row["hold_id"] as HoldId,
    heldAt: utc(row["held_at"]),
    reason: row["reason"] as HoldReason,
    ...(row["rule"] === null ? {} : { rule: Number(row["rule"]) }),
    ...(row["explanation"] === null ? {} : { explanation: String(row["explanation"]) }),
    itemKind: kind,
    sender: message.sender,
    address: message.address,
    bytes: Number(row["bytes"]),
  };
};

export const count = (db: Database): number =>
  Number(db.get("SELECT count(*) AS n FROM firewall_hold WHERE ending IS NULL")?.["n"]);

const rowOf = (db: Database, holdId: HoldId): Row => {
  const row = db.get(`SELECT ${columns} FROM firewall_hold WHERE hold_id = ?`, holdId);
  if (row !== undefined) return row;
  throw new OperationError("unknown-hold", "no message was ever held under that id");
};

/** What is held, oldest first, after one that may have ended since. Throws `unknown-hold` or `persistence-failed`. */
export const list = (db: Database, { afterHoldId }: { readonly afterHoldId?: HoldId }): HoldPage =>
  readable(() => {
    const after = afterHoldId === undefined ? 0 : Number(rowOf(db, afterHoldId)["sequence"]);
    const rows = db.all(
      `SELECT ${columns} FROM firewall_hold WHERE ending IS NULL AND sequence > ? ORDER BY sequence LIMIT ?`,
      after,
      Limits.holdPageMax + 1,
    );
    const holds = rows.slice(0, Limits.holdPageMax).map(holdOf);
    return { holds, hasMore: rows.length > holds.length, queued: Queue.count(db) };
  });

export const read = (db: Database, holdId: HoldId): HoldContent =>
  readable(() => {
    const row = rowOf(db, holdId);
    return {
      hold: holdOf(row),
      state: (row["ending"] as Ending | null) ?? "held",
      ...(row["ended_at"] === null ? {} : { endedAt: utc(row["ended_at"]) }),
      item: itemOf(row),
    };
  });

/** Ends a hold unless it has ended; says whether it did so now. */
const end = (db: Database, holdId: HoldId, ending: Ending, now: number): boolean =>
  db.run(
    "UPDATE firewall_hold SET ending = ?, ended_at = ? WHERE hold_id = ? AND ending IS NULL",
    ending,
    now,
    holdId,
  ) === 1;

const endingOf = (db: Database, holdId: HoldId): HoldEnded => ({
  kind: rowOf(db, holdId)["ending"] as Ending,
});

/** In the caller's transaction. */
export const discard = (db: Database, holdId: HoldId, now: number): HoldEnded => {
  end(db, holdId, "discarded", now);
  return endingOf(db, holdId);
};

/** In the caller's transaction, which also ends the hold. Says whether an item was admitted now. */
export const release = (
  db: Database,
  holdId: HoldId,
  writing: { readonly now: number; readonly random: Inbox.Random },
): HoldEnded & { readonly admitted: boolean } =>
  readable(() => {
    const row = rowOf(db, holdId);
    const admitted = end(db, holdId, "released", writing.now);
    if (admitted) {
      Inbox.admit(db, {
        item: itemOf(row),
        conversationId: row["conversation_id"] as ConversationId,
        recordHash: row["record_hash"] as RecordHash,
        ...(row["request_id"] === null ? {} : { requestId: row["request_id"] as CollectiveId }),
        released: true,
        ...writing,
      });
    }
    return { ...endingOf(db, holdId), admitted };
  });
