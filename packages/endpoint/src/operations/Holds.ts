// What an owner sees and does of messages that its firewall holds: look, discard, and where its rules allow that, release. Reads
// and ends holds; whether there is a firewall is not known here. Implements ING-161 to ING-164.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { Item } from "@social-harness/protocol/delivery/Item";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { HoldId } from "../firewall/HoldId.ts";
import * as Limits from "../firewall/Limits.ts";
import type { HoldReason } from "../firewall/Verdict.ts";
import * as Inbox from "../ingress/Inbox.ts";
import type { Database, Row } from "../store/Database.ts";
import { OperationError } from "./OperationError.ts";

/** Which of the four tools there are: none without a firewall, the release only where its rules allow it. */
export type HoldTools = "none" | "kept" | "releasable";

/** A held message without its content. */
export interface Hold {
  readonly holdId: HoldId;
  /** UTC. */
  readonly heldAt: string;
  readonly reason: HoldReason;
  /** The rule that decided, counted from 1. */
  readonly rule?: number;
  readonly explanation?: string;
  readonly itemKind: Item["kind"];
  readonly sender: MessageAddress;
  readonly address: MessageAddress;
  /** Of the item. */
  readonly bytes: number;
}

export interface HoldPage {
  readonly holds: ReadonlyArray<Hold>;
  readonly hasMore: boolean;
  /** Items that are being judged or wait for it. */
  readonly queued: number;
}

export const endings = ["discarded", "released"] as const;
export type Ending = (typeof endings)[number];

export interface HoldContent {
  readonly hold: Hold;
  readonly state: "held" | Ending;
  /** UTC; while it is held there is none. */
  readonly endedAt?: string;
  readonly item: Item;
}

/** How a hold ended, now or before. */
export interface HoldEnded {
  readonly kind: Ending;
}

/** Rejections are `not-registered`, `unknown-hold` or `persistence-failed`. */
export interface Holds {
  readonly holdTools: () => HoldTools;
  readonly listHolds: (input: { readonly afterHoldId?: HoldId }) => HoldPage;
  readonly readHold: (holdId: HoldId) => HoldContent;
  readonly discardHold: (holdId: HoldId) => Promise<HoldEnded>;
  readonly releaseHold: (holdId: HoldId) => Promise<HoldEnded>;
}

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
    const queued = Number(db.get("SELECT count(*) AS n FROM firewall_queue")?.["n"]);
    const holds = rows.slice(0, Limits.holdPageMax).map(holdOf);
    return { holds, hasMore: rows.length > holds.length, queued };
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
        released: true,
        ...writing,
      });
    }
    return { ...endingOf(db, holdId), admitted };
  });
