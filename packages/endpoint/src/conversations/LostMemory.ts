// What an endpoint remembers of having forgotten: when its store was found to be older than what it signed, and which
// conversations have yet to be told. One that is not told must not sign; so it is told before anything else reaches it,
// whatever happens in between. Knows the rows, not the rules. Implements HIS-165 to HIS-167 and HIS-177.

import type { MessageAddress } from "@social-harness/protocol/address/Address";
import type { ConversationId, Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { Database } from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";
import * as RouterTerms from "../transport/RouterTerms.ts";

/**
 * Notes, in the turn that finds it, that the store is an old copy: every conversation in it is to be told. What a clock that
 * was set back since dates into the future is as old as the rest. Where lanes began counts from now on: see `beganSince`.
 */
export const note = (db: Database, now: number): void => {
  Settings.put(db, "memory_lost_at", now);
  Settings.put(db, "memory_lost_term", RouterTerms.currentOrFirst(db));
  db.run("INSERT OR IGNORE INTO untold SELECT conversation_id FROM conversation");
  db.run("UPDATE intent SET created_at = ? WHERE outcome IS NULL AND created_at >= ?", now - 1, now);
  db.run("DELETE FROM lane_head WHERE sequence = 1");
};

/** When the memory was last found to be lost (epoch milliseconds), or null for never. */
export const notedAt = (db: Database): number | null => {
  const at = Settings.text(db, "memory_lost_at");
  return at === null ? null : Number(at);
};

/**
 * Whether what a conversation that came up since shows to be forgotten was forgotten with the loss that is noted. A Router that
 * has gone on since then knows more of this agent than an older copy would, and finds a further loss by itself; after another
 * one has taken its place, or it went back, nobody can tell, and the loss counts as a new one.
 */
export const covers = (db: Database): boolean =>
  notedAt(db) !== null && Settings.integer(db, "memory_lost_term") === RouterTerms.currentOrFirst(db);

/** A conversation that came up after the loss and may have been forgotten with the rest. */
export const suspect = (db: Database, conversationId: ConversationId): void => {
  db.run("INSERT OR IGNORE INTO untold (conversation_id) VALUES (?)", conversationId);
};

/**
 * Whether a lane began after the loss: its first head of all came here since, so this member has forgotten nothing that it
 * signed there. A Router that lies, or has taken the place of a lost one, can make it vote once more for a GENESIS and for
 * nothing else: that needs the votes of all, and whoever remembers another one does not give it, but shows that one.
 */
export const beganSince = (db: Database, lane: Opaque32): boolean =>
  db.get("SELECT 1 FROM lane_head WHERE lane = ? AND sequence = 1", lane) !== undefined;

export const isUntold = (db: Database, conversationId: ConversationId): boolean =>
  db.get("SELECT 1 FROM untold WHERE conversation_id = ?", conversationId) !== undefined;

export const told = (db: Database, conversationId: ConversationId): void => {
  db.run("DELETE FROM untold WHERE conversation_id = ?", conversationId);
};

/** Some of those who are to be told, in byte order, from after one of them on. */
export const untoldIds = (
  db: Database,
  after: ConversationId | null,
  countMax: number,
): ReadonlyArray<ConversationId> =>
  db
    .all(
      "SELECT conversation_id AS id FROM untold WHERE conversation_id > ? ORDER BY conversation_id LIMIT ?",
      after ?? "",
      countMax,
    )
    .map((row) => row["id"] as ConversationId);

const recovering = `FROM conversation
  WHERE conversation_id IN (SELECT conversation_id FROM untold)
    OR (active = 1 AND json_extract(state, '$.restored.at') IS NOT NULL)`;

/** How many conversations have not recovered yet, the untold ones included. */
export const countRecovering = (db: Database): number =>
  Number(db.get(`SELECT count(*) AS n ${recovering}`)?.["n"]);

/** Some of them, in byte order. */
export const recoveringAddresses = (db: Database, countMax: number): ReadonlyArray<MessageAddress> =>
  db
    .all(`SELECT address ${recovering} ORDER BY address LIMIT ?`, countMax)
    .map((row) => row["address"] as MessageAddress);

/** Notes, in the turn that brings one back, that a conversation has recovered. */
export const recovered = (db: Database, now: number): void => Settings.put(db, "memory_back_at", now);

/** Since when nothing has had to recover (epoch milliseconds), where nothing has to now. */
export const backSince = (db: Database, lostAt: number): number =>
  Math.max(lostAt, Settings.integer(db, "memory_back_at"));

/** What it means and what is to be done, for people; without the last full stop. */
export const explain = (count: number): string =>
  count === 0
    ? "the state folder was found to be an old copy, or to have lost its store. Every conversation that it knows has " +
      "recovered; one that it has forgotten comes back with the first word that anybody says in it"
    : "the state folder is an old copy of what this agent had, or has lost its store. Each conversation signs nothing until " +
      "enough of its other members have said where they are. It then takes part again in a later round: by itself between " +
      "two or three, with its next post among four and more. One in which too few others remember what was signed, as where " +
      "both of a pair lost their memory, cannot recover: write to them in a group with one more agent, which is another " +
      "conversation";
