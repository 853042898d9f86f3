// What a store must show before an endpoint acts on it: every record still has the hash and the evidence digest it was
// stored under, every chain is whole from GENESIS to its head, every state is what was written, and the signatures since
// the last checkpoint verify. Refuses with a sentence; repairs and deletes nothing. Implements RUN-60 and RUN-61.

import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type { ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { ConversationId } from "@social-harness/protocol/identity/Identifier";
import { type Conversation, load, stateOf } from "../conversations/ConversationRows.ts";
import { type Database, type Row, StoreError } from "./Database.ts";
import * as RecordRows from "./RecordRows.ts";
import * as Settings from "./Settings.ts";
import { verifyRecords } from "./VerifyRecords.ts";

const corrupt = (conversationId: string, what: string): StoreError =>
  new StoreError(
    "corrupt",
    `the stored history of conversation ${conversationId} ${what}: ` +
      "the file was changed outside this program; restore it from a backup, nothing has been changed or deleted",
  );

/** Records of one conversation that are verified in one go: bounded memory, and enough for the thread pool. */
const batchMax = 64;

interface Walk {
  readonly conversationId: ConversationId;
  height: number;
  recordHash: string | null;
  unverified: Array<HistoryRecord>;
  head: ChainHead | null;
}

/** Checks the whole store. Throws `StoreError` with reason `corrupt`; returns how many records it walked and verified. */
export const check = async (
  db: Database,
  trust: Trust,
): Promise<{ readonly records: number; readonly verified: number }> => {
  const checkpoint = Settings.integer(db, "verified_sequence");
  let records = 0;
  let verified = 0;
  let lastSequence = checkpoint;
  const heads = new Map<string, Row>();
  for (const row of db.all(
    "SELECT conversation_id, head_height, head_record_hash, state, state_digest FROM conversation",
  )) {
    const state = stateOf(row);
    if ((state.head?.recordHash ?? null) !== row["head_record_hash"]) {
      throw corrupt(String(row["conversation_id"]), "does not end at the head that its state names");
    }
    heads.set(row["conversation_id"] as string, row);
  }
  for (const [conversationId, headRow] of heads) {
    const walk = start(conversationId as ConversationId);
    for (const row of db.iterate(
      `SELECT ${RecordRows.columns} FROM record WHERE conversation_id = ? ORDER BY height`,
      conversationId,
    )) {
      const record = RecordRows.decode(row);
      follow(walk, record);
      records++;
      const sequence = Number(row["sequence"]);
      lastSequence = Math.max(lastSequence, sequence);
      if (sequence > checkpoint) walk.unverified.push(record);
      if (walk.unverified.length >= batchMax) verified += await verify(db, trust, walk);
    }
    verified += await verify(db, trust, walk);
    if (walk.recordHash !== headRow["head_record_hash"]) {
      throw corrupt(conversationId, "does not end at the head that its state names");
    }
  }
  if (lastSequence > checkpoint) db.transaction(() => Settings.put(db, "verified_sequence", lastSequence));
  return { records, verified };
};

const start = (conversationId: ConversationId): Walk => ({
  conversationId,
  height: -1,
  recordHash: null,
  unverified: [],
  head: null,
});

const follow = (walk: Walk, record: HistoryRecord): void => {
  const { action } = record.recordCore;
  if (action.height !== walk.height + 1 || action.previousRecordHash !== walk.recordHash) {
    throw corrupt(
      walk.conversationId,
      `is not a chain: height ${action.height} does not follow ${walk.height}`,
    );
  }
  walk.height = action.height;
  walk.recordHash = record.recordHash;
};

const verify = async (db: Database, trust: Trust, walk: Walk): Promise<number> => {
  const [first] = walk.unverified;
  if (first === undefined) return 0;
  const conversation = load(db, trust, walk.conversationId) as Conversation;
  walk.head ??= headBefore(db, conversation, first);
  try {
    walk.head = await verifyRecords(trust, walk.head, walk.unverified, () => false);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw corrupt(walk.conversationId, `does not verify: ${error.message}`);
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
  };
};
