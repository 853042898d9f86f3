// A real endpoint store in memory beside a simulated disk: each turn in one transaction of the endpoint's own code, from
// the fold's commands to the inbox, as far as the turn comes. Knows no oracle.

import * as CommandRows from "@social-harness/endpoint/conversations/CommandRows";
import * as ConversationRows from "@social-harness/endpoint/conversations/ConversationRows";
import { emptyWork, type Turn } from "@social-harness/endpoint/conversations/Conversations";
import { admitCommitted } from "@social-harness/endpoint/conversations/Admission";
import type { SQLInputValue } from "node:sqlite";
import * as Inbox from "@social-harness/endpoint/ingress/Inbox";
import * as AnchorRows from "@social-harness/endpoint/store/AnchorRows";
import * as Database from "@social-harness/endpoint/store/Database";
import * as RecordRows from "@social-harness/endpoint/store/RecordRows";
import { type AgentId, OperationId, type RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Disk } from "./Disk.ts";
import type { Committed, Member, World } from "./FoldWorld.ts";

export interface EndpointStore {
  readonly self: AgentId;
  readonly db: Database.Database;
  readonly random: Inbox.Random;
  /** The conversation as it was created; its state is that of the row. */
  readonly conversation: ConversationRows.Conversation;
  /** Pending rows of earlier turns may be waiting: not known when a process starts. */
  hasMore: boolean;
}

/** How far a turn comes: to its commit, or to where the process dies or the store takes nothing more. */
export type End = "commit" | "before-classification" | "after-classification" | "full";

/** What the endpoint says to its log about the posts of a turn. */
export interface Remark {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly recordHash: RecordHash;
  readonly reason: string;
}

/** Opens a store that holds what a disk holds from the start. */
export const open = ({ members }: World, { id, disk }: Member, random: Inbox.Random): EndpointStore => {
  const db = Database.open(":memory:");
  const { conversationId } = members;
  const conversation = db.transaction(() => {
    Inbox.prepare(db, random);
    const created = ConversationRows.create(db, members, id);
    for (const [anchorHash, anchor] of disk.anchors)
      AnchorRows.insert(db, conversationId, anchorHash, anchor);
    for (const record of disk.records) RecordRows.insert(db, record);
    ConversationRows.save(db, { ...created, state: disk.state });
    return created;
  });
  return { self: id, db, random, conversation, hasMore: true };
};

/** What a process that starts again finds: every row, by another connection. */
export const reopened = (store: EndpointStore): EndpointStore => {
  const { db } = store;
  const copy = Database.open(":memory:");
  copy.transaction(() => {
    // Parents were created before the tables that refer to them.
    const tables = db.all(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    );
    for (const table of tables) copyRows(db, copy, String(table["name"]));
  });
  copy.transaction(() => Inbox.prepare(copy, store.random));
  return { ...store, db: copy, hasMore: true };
};

const copyRows = (from: Database.Database, to: Database.Database, table: string): void => {
  for (const row of from.all(`SELECT * FROM ${table}`)) {
    const columns = Object.keys(row);
    const places = columns.map(() => "?").join(", ");
    const values: ReadonlyArray<SQLInputValue> = Object.values(row);
    to.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`, ...values);
  }
};

/** Undoes the transaction that it is thrown in. */
class TurnLost extends Error {
  override readonly name = "TurnLost";
}

const pagesMax = 1_073_741_823;
const limitPages = (db: Database.Database, pages: number): void =>
  void db.get(`PRAGMA max_page_count = ${pages}`);

/** Writes one turn. Returns what the endpoint remarked about its posts, or null when nothing of it was written. */
export const write = (
  store: EndpointStore,
  turn: Committed,
  now: number,
  end: End,
): ReadonlyArray<Remark> | null => {
  const { db, self, random, conversation } = store;
  const remarks: Array<Remark> = [];
  const ended = turn.commands.filter((command) => command.kind === "intent-ended");
  const commits = turn.commands.filter(({ kind }) => kind === "commit").length;
  const working: Turn = { db, now, state: { ...emptyWork, ended, commits } };
  const logger: Parameters<typeof admitCommitted>[1]["logger"] = (level, event, fields) =>
    remarks.push({
      level,
      event,
      recordHash: String(fields?.["recordHash"]) as RecordHash,
      reason: String(fields?.["reason"] ?? fields?.["error"]),
    });
  // The smallest limit there is: the store may go on in the pages that it has, and gets no other.
  if (end === "full") limitPages(db, 1);
  try {
    store.hasMore = db.transaction(() => {
      db.transaction(() => writeRows(store, turn));
      ConversationRows.save(db, { ...conversation, state: turn.after.state });
      if (end === "before-classification") throw new TurnLost();
      const { hasMore } = admitCommitted(working, { self, random, logger, more: store.hasMore });
      if (end !== "commit") throw new TurnLost();
      return hasMore;
    });
    return remarks;
  } catch (error) {
    const isLost = error instanceof TurnLost || (end === "full" && Database.isStoreFailure(error));
    if (!isLost) throw error;
    return null;
  } finally {
    if (end === "full") limitPages(db, pagesMax);
  }
};

const writeRows = ({ db, self, conversation }: EndpointStore, turn: Committed): void => {
  const { conversationId } = conversation.members;
  for (const { intent, createdAt } of turn.after.intents.slice(turn.before.intents.length)) {
    const operationId = OperationId.fromBytes(Buffer.from(intent.postId).subarray(-16));
    ConversationRows.keepIntent(db, intent, operationId, createdAt);
  }
  for (const command of turn.commands) CommandRows.write(db, conversationId, self, command);
};

/** How much stands in a store, and which state: all that a turn which came to nothing must leave as it was. */
export const standingOf = ({ db }: EndpointStore): string =>
  JSON.stringify(
    db.get(
      `SELECT (SELECT hex(state_digest) FROM conversation) AS state, (SELECT count(*) FROM record) AS records,
         (SELECT count(*) FROM candidate) AS candidates, (SELECT count(*) FROM anchor) AS anchors,
         (SELECT count(*) FROM own_vote) AS votes, (SELECT count(*) FROM intent) AS intents,
         (SELECT count(*) FROM pending) AS pending, (SELECT count(*) FROM inbox) AS items,
         (SELECT count(*) FROM inbox WHERE acknowledged_at IS NULL) AS unread`,
    ),
  );

/** What of a disk a store holds otherwise, or null. Reads every row that it asks for by the endpoint's own decoders. */
export const differenceFrom = ({ db, conversation }: EndpointStore, disk: Disk): string | null => {
  const { conversationId } = conversation.members;
  const row = ConversationRows.rowOf(db, conversationId);
  if (row === undefined) return "no conversation";
  const state = ConversationRows.stateOf(row);
  if (JSON.stringify(state) !== JSON.stringify(disk.state)) return "another state";
  ConversationRows.checkOpenWork(db, conversationId, state, AnchorRows.hashesOf(db, conversationId));
  const { records } = RecordRows.list(db, conversationId, {
    after: -1,
    through: Number.MAX_SAFE_INTEGER,
    countMax: Number.MAX_SAFE_INTEGER - 1,
    bytesMax: Number.MAX_SAFE_INTEGER,
  });
  const isSame = records.every((record, i) => record.recordHash === disk.records[i]?.recordHash);
  if (records.length !== disk.records.length || !isSame) return "another chain";
  const { nextIntent } = ConversationRows.readsOf(db, conversationId);
  const waiting = disk.intents.find(({ outcome }) => outcome === null)?.intent.postId;
  return nextIntent(new Set())?.intent.postId === waiting ? null : "other posts to be said";
};
