// The Router's logs that this endpoint has been bound to, one after the other. A term is one instance's log for as long as it
// went on from where it was: cursors, lane heads and counts of accepted sends belong to a term. What another instance
// replaced, or a roll-back ended, stays as evidence; an instance that comes back is taken up where it was left.
// Implements HIS-130 to HIS-134.

import type { ConversationId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { ReadyState } from "@social-harness/router/client/RouterClient";
import type { Database, Row } from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";
import * as Equivocations from "./Equivocations.ts";
import type { Seen } from "./LaneHeads.ts";

export type Ending = "another-instance" | "rolled-back";

/** What an ending means and what is to be done, for people; one sentence or two, without the last full stop. */
export const explain = (ending: Ending): string => {
  switch (ending) {
    case "another-instance":
      return (
        "the Router's log began anew, or another Router took its place. Nothing is to be done: conversations go on in a " +
        "new round as soon as enough of their members are there"
      );
    case "rolled-back":
      return (
        "the Router took back an order that it had signed, as one does whose log was restored from an old copy. " +
        "Conversations go on in a new round; tell the network's operator, or move to another Router of the network with " +
        "`social-harness move`"
      );
  }
};

/** A log that ended for this endpoint. */
export interface FormerTerm {
  readonly term: number;
  readonly routerInstanceId: RouterInstanceId;
  readonly ending: Ending;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  /** The last mailbox cursor that was taken in. */
  readonly cursor: number;
  /** Where the mailbox ended when a roll-back was noticed by its end. */
  readonly tail: number | null;
}

/** What the store remembers of one instance. */
interface Remembered {
  readonly cursor: number;
  /** Envelopes that the instance may have been offered, and so may have accepted. */
  readonly offered: number;
}

/** Terms that are kept with their lane heads: a Router that changes its log again and again must not fill the disk. */
const formerTermsKept = 64;

const currentTerm = (db: Database): number => Settings.integer(db, "router_term");

/** The current term, or the one that will be the first. */
export const currentOrFirst = (db: Database): number => Math.max(currentTerm(db), 1);

/** Envelopes that no Router is known to have accepted: a new instance may get any of them. */
const waitingSends = (db: Database): number => Number(db.get("SELECT count(*) AS n FROM outbox")?.["n"]);

const offeredSends = (db: Database): number =>
  Settings.integer(db, "enqueued_sends") - Settings.integer(db, "enqueued_before");

/** The term in which an instance was left for another one, or undefined. */
const leftTermOf = (db: Database, routerInstanceId: RouterInstanceId): Row | undefined =>
  db.get(
    "SELECT * FROM router_term WHERE router_instance_id = ? AND ending = 'another-instance' ORDER BY term DESC LIMIT 1",
    routerInstanceId,
  );

const remembered = (db: Database, routerInstanceId: RouterInstanceId): Remembered => {
  if (Settings.text(db, "router_instance_id") === routerInstanceId) {
    return { cursor: Settings.integer(db, "router_cursor"), offered: offeredSends(db) };
  }
  const left = leftTermOf(db, routerInstanceId);
  return {
    cursor: Number(left?.["cursor"] ?? 0),
    offered: Number(left?.["offered_sends"] ?? 0) + waitingSends(db),
  };
};

/** How a connection's Router stands to what the store remembers of its instance. */
export type Standing = "same" | "another-instance" | "rolled-back" | "lost-memory";

/** Lost memory comes first: who remembers less than the Router knows nothing about anybody's past. */
export const judge = (db: Database, ready: ReadyState): Standing => {
  const { cursor, offered } = remembered(db, ready.routerInstanceId);
  if (ready.acceptedSends > offered || ready.acknowledgedCursor > cursor) return "lost-memory";
  const bound = Settings.text(db, "router_instance_id");
  if (bound !== ready.routerInstanceId) return "another-instance";
  return ready.tailCursor < cursor ? "rolled-back" : "same";
};

/** Ends the current term; there is none before the first Router. What was held for its lane is no part of the next one. */
const end = (db: Database, ending: Ending, now: number, tail: number | null): void => {
  const routerInstanceId = Settings.text(db, "router_instance_id");
  if (routerInstanceId === null) return;
  const term = currentTerm(db);
  db.run(
    `INSERT INTO router_term (term, router_instance_id, ending, ended_at, cursor, tail, offered_sends)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    term,
    routerInstanceId,
    ending,
    now,
    Settings.integer(db, "router_cursor"),
    tail,
    offeredSends(db),
  );
  db.run(
    `INSERT INTO former_lane_head (lane, sequence, term, lane_head, signature)
     SELECT lane, sequence, ?, lane_head, signature FROM lane_head`,
    term,
  );
  db.run("DELETE FROM lane_head");
  db.run("UPDATE held_envelope SET lane = ''");
  db.run("DELETE FROM former_lane_head WHERE term <= ?", term - formerTermsKept);
  db.run("DELETE FROM router_term WHERE term <= ?", term - formerTermsKept);
};

const begin = (db: Database, routerInstanceId: RouterInstanceId, { cursor, offered }: Remembered): void => {
  Settings.put(db, "router_term", currentTerm(db) + 1);
  Settings.put(db, "router_instance_id", routerInstanceId);
  Settings.put(db, "router_cursor", cursor);
  Settings.put(db, "enqueued_before", Settings.integer(db, "enqueued_sends") - offered);
};

/** Takes the lane heads of a term that is gone on with. */
const reopen = (db: Database, term: number, routerInstanceId: RouterInstanceId): void => {
  db.run(
    `INSERT INTO lane_head (lane, sequence, router_instance_id, lane_head, signature)
     SELECT lane, sequence, ?, lane_head, signature FROM former_lane_head WHERE term = ?`,
    routerInstanceId,
    term,
  );
  db.run("DELETE FROM former_lane_head WHERE term = ?", term);
  db.run("DELETE FROM router_term WHERE term = ?", term);
};

/** Binds the endpoint to another instance. Envelopes that no Router accepted go to this one. */
export const bind = (db: Database, routerInstanceId: RouterInstanceId, now: number): void => {
  const next = remembered(db, routerInstanceId);
  const left = leftTermOf(db, routerInstanceId);
  end(db, "another-instance", now, null);
  if (left !== undefined) reopen(db, Number(left["term"]), routerInstanceId);
  begin(db, routerInstanceId, next);
};

/**
 * The bound instance went back behind what it had said: what it says from `cursor` on is a new beginning. `tail` is where its
 * mailbox ends, when that is how it was noticed.
 */
export const rollBack = (db: Database, cursor: number, tail: number | null, now: number): void => {
  const routerInstanceId = Settings.text(db, "router_instance_id") as RouterInstanceId;
  const offered = offeredSends(db);
  end(db, "rolled-back", now, tail);
  begin(db, routerInstanceId, { cursor, offered });
};

/**
 * Takes over what the bound instance knows of this agent and the store forgot, so that the same loss is not found again. What
 * lies between the cursors is gone from the mailbox; of `underway` envelopes of this process the Router may not have told yet.
 */
export const takeOver = (db: Database, ready: ReadyState, underway: number): void => {
  const cursor = Math.max(Settings.integer(db, "router_cursor"), ready.acknowledgedCursor);
  const offered = Math.max(offeredSends(db), ready.acceptedSends + underway);
  Settings.put(db, "router_cursor", cursor);
  Settings.put(db, "enqueued_sends", Settings.integer(db, "enqueued_before") + offered);
};

/**
 * Compares a head, whose signature was verified, with those of former terms of its instance, and keeps the first proof in its
 * lane. It is evidence alone: what ended the term was cause for a round already.
 */
export const compareWithFormer = (db: Database, head: Seen): void => {
  const row = db.get(
    `SELECT lane_head, signature FROM former_lane_head JOIN router_term USING (term)
     WHERE lane = ? AND sequence = ? AND router_instance_id = ? AND lane_head <> ? LIMIT 1`,
    head.lane,
    head.sequence,
    head.routerInstanceId,
    head.laneHead,
  );
  if (row === undefined || Equivocations.isCaught(db, head)) return;
  const former = {
    ...head,
    laneHead: row["lane_head"] as Seen["laneHead"],
    signature: row["signature"] as Seen["signature"],
  };
  Equivocations.keep(db, former, head);
};

export const formerTerms = (db: Database): ReadonlyArray<FormerTerm> =>
  db.all("SELECT * FROM router_term ORDER BY term").map((row) => ({
    term: Number(row["term"]),
    routerInstanceId: row["router_instance_id"] as RouterInstanceId,
    ending: row["ending"] as Ending,
    endedAt: Number(row["ended_at"]),
    cursor: Number(row["cursor"]),
    tail: row["tail"] === null ? null : Number(row["tail"]),
  }));

/** Whether any log ended. */
export const hasFormer = (db: Database): boolean => db.get("SELECT 1 FROM router_term LIMIT 1") !== undefined;

/** How the last log ended, or null where none has. */
export const lastFormer = (db: Database): FormerTerm | null => formerTerms(db).at(-1) ?? null;

const underEarlier = `
  FROM conversation JOIN anchor ON anchor.conversation_id = conversation.conversation_id
    AND anchor.anchor_hash = json_extract(conversation.state, '$.anchor.anchorHash')
  WHERE anchor.term < ?`;

/** Conversations whose accepted anchor is of an earlier term than this one, in byte order, from after one of them on. */
export const idsUnderEarlier = (
  db: Database,
  after: ConversationId | null,
  countMax: number,
): ReadonlyArray<ConversationId> =>
  db
    .all(
      `SELECT conversation.conversation_id AS id ${underEarlier} AND conversation.conversation_id > ? ORDER BY 1 LIMIT ?`,
      currentTerm(db),
      after ?? "",
      countMax,
    )
    .map((row) => row["id"] as ConversationId);

/** How many conversations have cause for a round and are not in it yet. */
export const countUnderEarlier = (db: Database): number =>
  Number(db.get(`SELECT count(*) AS n ${underEarlier}`, currentTerm(db))?.["n"]);
