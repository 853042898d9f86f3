// What a store must show before an endpoint acts on it: every record still has the hash and the evidence digest it was
// stored under, every chain is whole from GENESIS to its head, every state is what was written, and the signatures since
// the last checkpoint verify. Refuses with a sentence; repairs and deletes nothing. Implements HIS-63 to HIS-65 and HIS-138.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type { ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AnchorHash, ConversationId } from "@social-harness/protocol/identity/Identifier";
import {
  allIds,
  checkOpenWork,
  type Conversation,
  load,
  rowOf,
  stateOf,
} from "../conversations/ConversationRows.ts";
import * as AnchorRows from "./AnchorRows.ts";
import { type Database, explained, type Row } from "./Database.ts";
import { StoreError } from "./StoreError.ts";
import * as Cards from "../transport/Cards.ts";
import * as RecordRows from "./RecordRows.ts";
import * as Settings from "./Settings.ts";
import * as StoredAncestry from "./StoredAncestry.ts";
import { verifyRecords } from "./VerifyRecords.ts";

const corrupt = (conversationId: string, what: string): StoreError =>
  new StoreError(
    "corrupt",
    `the stored history of conversation ${conversationId} ${what}, and the file was changed outside this program`,
    "restore it from a backup, nothing has been changed or deleted",
  );

const damagedStore = (what: string): StoreError =>
  new StoreError(
    "corrupt",
    `the store is damaged (${what})`,
    "restore it from a backup, nothing has been changed or deleted",
  );

/** Records of one conversation that are verified in one go: bounded memory, and enough for the thread pool. */
const batchMax = 64;

interface Walk {
  readonly conversationId: ConversationId;
  height: number;
  sequence: number;
  recordHash: string | null;
  unverified: Array<HistoryRecord>;
  head: ChainHead | null;
}

/** `everything`: every signature is verified whatever the checkpoint says. Only `since-checkpoint` writes, the checkpoint. */
export type Scope = "since-checkpoint" | "since-checkpoint-unwritten" | "everything";

/**
 * Checks the whole store. Throws `StoreError`, with reason `corrupt` when anything is not as it was stored; returns how
 * many records it walked and verified.
 */
export const check = async (
  db: Database,
  trust: Trust,
  scope: Scope = "since-checkpoint",
): Promise<{ readonly records: number; readonly verified: number }> => {
  try {
    checkFile(db);
    checkCards(db, trust);
    return await checkConversations(db, trust, scope);
  } catch (error) {
    throw explained(error);
  }
};

/** SQLite's own view of its pages, indexes and references: rows can only be believed where these are whole. */
const checkFile = (db: Database): void => {
  const problem = db.get("PRAGMA integrity_check(1)")?.["integrity_check"];
  const stray = db.get("PRAGMA foreign_key_check");
  if (problem === "ok" && stray === undefined) return;
  throw damagedStore(
    stray === undefined ? String(problem) : `a row of ${String(stray["table"])} refers to none`,
  );
};

/** Every card that was kept, and this agent's own under the pinned key. */
const checkCards = (db: Database, { verifier, registryKey }: Trust): void => {
  for (const row of db.iterate("SELECT * FROM card")) Cards.decode(row);
  const own = db.get("SELECT agent_card FROM registration WHERE agent_card IS NOT NULL")?.["agent_card"];
  if (own === undefined) return;
  try {
    const card = AgentCard.decode(own as AgentCard.EncodedAgentCard);
    if (AgentCard.verify(verifier, registryKey, card)) return;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  throw damagedStore("this agent's own card does not verify under the pinned Registry key");
};

const checkConversations = async (
  db: Database,
  trust: Trust,
  scope: Scope,
): Promise<{ readonly records: number; readonly verified: number }> => {
  const checkpoint = Settings.integer(db, "verified_sequence");
  let records = 0;
  let verified = 0;
  let lastSequence = 0;
  for (const conversationId of allIds(db)) {
    const state = stateOf(rowOf(db, conversationId) as Row);
    const anchors = AnchorRows.hashesOf(db, conversationId);
    checkOpenWork(db, conversationId, state, anchors);
    const walk = start(conversationId);
    for (const row of db.iterate(
      `SELECT ${RecordRows.columns} FROM record WHERE conversation_id = ? ORDER BY height`,
      conversationId,
    )) {
      const record = RecordRows.decode(row);
      follow(walk, record, Number(row["sequence"]));
      if (!areKept(anchors, record))
        throw corrupt(conversationId, "stands under an anchor that is not there");
      records++;
      if (scope === "everything" || walk.sequence > checkpoint) walk.unverified.push(record);
      if (walk.unverified.length >= batchMax) verified += await verify(db, trust, walk);
    }
    verified += await verify(db, trust, walk);
    lastSequence = Math.max(lastSequence, walk.sequence);
    if (walk.recordHash !== (state.head?.recordHash ?? null)) {
      throw corrupt(conversationId, "does not end at the head that its state names");
    }
  }
  if (checkpoint > lastSequence) throw damagedStore("it holds less than what was verified of it");
  if (scope === "since-checkpoint" && lastSequence > checkpoint) {
    db.transaction(() => Settings.put(db, "verified_sequence", lastSequence));
  }
  return { records, verified };
};

const start = (conversationId: ConversationId): Walk => ({
  conversationId,
  height: -1,
  sequence: 0,
  recordHash: null,
  unverified: [],
  head: null,
});

const areKept = (
  anchors: ReadonlySet<AnchorHash>,
  { recordCore, durabilityAnchor }: HistoryRecord,
): boolean =>
  anchors.has(recordCore.anchorHash) &&
  (durabilityAnchor === null || anchors.has(Reanchor.hashOf(durabilityAnchor)));

const follow = (walk: Walk, record: HistoryRecord, sequence: number): void => {
  const { action } = record.recordCore;
  if (sequence <= walk.sequence) throw corrupt(walk.conversationId, "was not committed in its own order");
  if (action.height !== walk.height + 1 || action.previousRecordHash !== walk.recordHash) {
    throw corrupt(
      walk.conversationId,
      `is not a chain: height ${action.height} does not follow ${walk.height}`,
    );
  }
  walk.height = action.height;
  walk.sequence = sequence;
  walk.recordHash = record.recordHash;
};

const verify = async (db: Database, trust: Trust, walk: Walk): Promise<number> => {
  const [first] = walk.unverified;
  if (first === undefined) return 0;
  const conversation = load(db, trust, walk.conversationId) as Conversation;
  walk.head ??= headBefore(db, conversation, first);
  try {
    const ancestry = StoredAncestry.below(db, walk.conversationId, first.recordCore.action.height);
    walk.head = await verifyRecords(trust, walk.head, walk.unverified, ancestry);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw corrupt(walk.conversationId, `does not verify at height ${error.height}: ${error.message}`);
  }
  const count = walk.unverified.length;
  walk.unverified = [];
  return count;
};

/** The verified place that a record must follow, from the row before it. */
export const headBefore = (
  db: Database,
  { members }: Pick<Conversation, "members">,
  record: HistoryRecord,
): ChainHead | null => {
  const { height } = record.recordCore.action;
  if (height === 0) return null;
  const before = RecordRows.at(db, members.conversationId, height - 1);
  if (before === null) throw corrupt(members.conversationId, `has no record at height ${height - 1}`);
  return {
    members,
    height: height - 1,
    recordHash: before.recordHash,
    anchorHash: before.recordCore.anchorHash,
    round: Reanchor.bodyOf(before.routerAnchor).round,
  };
};
