// What a store must show before an endpoint acts on it: every record still has the hash and the evidence digest it was
// stored under, every chain is whole from GENESIS to its head, every state is what was written, and the signatures since
// the last checkpoint verify. Refuses with a sentence; repairs and deletes nothing. Implements HIS-63 to HIS-65 and HIS-138.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type { ChainHead, Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AnchorHash, ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
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

/** Records of one conversation that are read and verified in one go: bounded memory, and enough for the thread pool. */
const batchMax = 64;

interface Walk {
  readonly conversationId: ConversationId;
  height: number;
  sequence: number;
  recordHash: RecordHash | null;
  unverified: Array<HistoryRecord>;
  head: ChainHead | null;
}

/**
 * `everything`: every signature is verified whatever the checkpoint says, and nothing is written. `looking`: as a start checks,
 * and nothing is written either.
 */
export type Scope = "since-checkpoint" | "looking" | "everything";

/** Where a conversation's records ended when they had been walked. */
export interface WalkedConversation {
  readonly conversationId: ConversationId;
  readonly head: Pick<ChainHead, "height" | "recordHash">;
}

export interface Checked {
  readonly records: number;
  /** Of which signatures were verified. */
  readonly verified: number;
}

export interface CheckOptions {
  readonly scope?: Scope;
  /**
   * Called between two reads, where what is read next may be newer: of a store that somebody else writes to no more than a
   * page has to stay as it was.
   */
  readonly release?: () => void;
  /** Called for each conversation with records, in no order. */
  readonly onWalked?: (walked: WalkedConversation) => void;
}

/**
 * Checks the whole store. Throws `StoreError`, with reason `corrupt` when anything is not as it was stored; returns how
 * many records it walked and verified.
 */
export const check = async (db: Database, trust: Trust, options: CheckOptions = {}): Promise<Checked> => {
  const { release = () => {} } = options;
  try {
    checkFile(db);
    release();
    checkCards(db, trust);
    return await checkConversations(db, trust, { ...options, release });
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
  options: CheckOptions & { readonly release: () => void },
): Promise<Checked> => {
  const { scope = "since-checkpoint", onWalked } = options;
  const checkpoint = Settings.integer(db, "verified_sequence");
  const walking = {
    db,
    trust,
    release: options.release,
    verifyAfter: scope === "everything" ? 0 : checkpoint,
  };
  let records = 0;
  let verified = 0;
  let lastSequence = 0;
  for (const conversationId of allIds(db)) {
    const walked = await walkConversation(walking, conversationId);
    records += walked.height + 1;
    verified += walked.verified;
    lastSequence = Math.max(lastSequence, walked.sequence);
    const { height, recordHash } = walked;
    if (recordHash !== null) onWalked?.({ conversationId, head: { height, recordHash } });
  }
  if (checkpoint > lastSequence) throw damagedStore("it holds less than what was verified of it");
  if (scope === "since-checkpoint" && lastSequence > checkpoint) {
    db.transaction(() => Settings.put(db, "verified_sequence", lastSequence));
  }
  return { records, verified };
};

interface Walking {
  readonly db: Database;
  readonly trust: Trust;
  readonly release: () => void;
  /** The sequence behind which signatures are verified. */
  readonly verifyAfter: number;
}

/** Page by page to its end, where the state must be that of the records. Records and anchors never change once they are there. */
const walkConversation = async (
  { db, trust, release, verifyAfter }: Walking,
  conversationId: ConversationId,
): Promise<Walk & { readonly verified: number }> => {
  const walk = start(conversationId);
  let verified = 0;
  for (;;) {
    const anchors = AnchorRows.hashesOf(db, conversationId);
    const rows = db.all(
      `SELECT ${RecordRows.columns} FROM record WHERE conversation_id = ? AND height > ? ORDER BY height LIMIT ?`,
      conversationId,
      walk.height,
      batchMax,
    );
    for (const row of rows) {
      const record = RecordRows.decode(row);
      follow(walk, record, Number(row["sequence"]));
      if (!areKept(anchors, record))
        throw corrupt(conversationId, "stands under an anchor that is not there");
      if (walk.sequence > verifyAfter) walk.unverified.push(record);
    }
    const isEnd = rows.length < batchMax;
    if (isEnd) demandState(db, walk, anchors);
    verified += await verify(db, trust, walk, release);
    if (isEnd) return { ...walk, verified };
  }
};

/** The conversation's row is what was stored, and speaks of these records. */
const demandState = (db: Database, walk: Walk, anchors: ReadonlySet<AnchorHash>): void => {
  const { conversationId } = walk;
  const state = stateOf(rowOf(db, conversationId) as Row);
  checkOpenWork(db, conversationId, state, anchors);
  if (walk.recordHash === (state.head?.recordHash ?? null)) return;
  throw corrupt(conversationId, "does not end at the head that its state names");
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

/** Releases the store as soon as all that it asks of it has been read, and verifies the signatures then. */
const verify = async (db: Database, trust: Trust, walk: Walk, release: () => void): Promise<number> => {
  const [first] = walk.unverified;
  if (first === undefined) {
    release();
    return 0;
  }
  const conversation = load(db, trust, walk.conversationId) as Conversation;
  walk.head ??= headBefore(db, conversation, first);
  try {
    const ancestry = StoredAncestry.below(db, walk.conversationId, first.recordCore.action.height);
    const verifying = verifyRecords(trust, walk.head, walk.unverified, ancestry);
    release();
    walk.head = await verifying;
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
