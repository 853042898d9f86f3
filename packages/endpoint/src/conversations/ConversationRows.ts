// Conversations as rows: the fold's state as one text with its digest, and the reads that the fold asks for.
// Knows the tables, not the rules.

import { hash } from "node:crypto";
import * as Address from "@social-harness/protocol/address/Address";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import type { Reads } from "@social-harness/protocol/conversation/Event";
import { areLeft } from "@social-harness/protocol/conversation/LeftBehind";
import { hasCandidate, hasOpenWork, initial, type State } from "@social-harness/protocol/conversation/State";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import {
  type AgentId,
  type AnchorHash,
  type ConversationId,
  MembershipHash,
  type OperationId,
  type Opaque32,
  type PostId,
  PostIntentHash,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import * as Lane from "@social-harness/router/wire/Lane";
import * as AnchorRows from "../store/AnchorRows.ts";
import type { Database, Row } from "../store/Database.ts";
import { StoreError } from "../store/StoreError.ts";
import * as RecordRows from "../store/RecordRows.ts";

/** One conversation in memory. Replaced whole, never changed in place. */
export interface Conversation {
  readonly members: Membership.Members;
  readonly address: Address.MessageAddress;
  readonly lane: Opaque32;
  /** Whose word made it. */
  readonly openedBy: AgentId;
  readonly state: State;
}

/** SHA-256 over everything that a row holds, so that no column of it can change alone. */
const digestOf = (
  fixed: Pick<Conversation, "address" | "lane" | "openedBy"> &
    Pick<Membership.Members, "conversationId" | "membershipHash">,
  state: string,
  active: number,
): Buffer =>
  hash(
    "sha256",
    JSON.stringify([
      fixed.conversationId,
      fixed.address,
      fixed.lane,
      fixed.membershipHash,
      fixed.openedBy,
      state,
      active,
    ] satisfies ReadonlyArray<string | number>),
    "buffer",
  );

/** The address under which `self` sees a membership that it belongs to. */
export const addressOf = (members: Membership.Members, self: AgentId): Address.MessageAddress => {
  const own = members.cardOf(self);
  if (own === undefined) throw new Error("a conversation is only kept by its members");
  return Address.ofMembers(
    members.cards.map((card) => card.agentName),
    own.agentName,
  );
};

const damaged = (row: Row): StoreError =>
  new StoreError(
    "corrupt",
    `the stored row of conversation ${String(row["conversation_id"])} was changed outside this program`,
    "restore the store from a backup, nothing has been changed or deleted",
  );

/**
 * The state of a row that is still what was stored, whole: ids, address, lane, membership, head and state. Throws
 * `StoreError`. Verifies no card: the membership was verified before it was stored.
 */
export const stateOf = (row: Row): State => {
  const text = String(row["state"]);
  const fixed = {
    conversationId: row["conversation_id"] as ConversationId,
    address: row["address"] as Address.MessageAddress,
    lane: row["lane"] as Opaque32,
    membershipHash: MembershipHash.fromBytes(hashOfText("membership", String(row["membership"]))),
    openedBy: row["opened_by"] as AgentId,
  };
  const digest = row["state_digest"];
  const isWhole =
    digest instanceof Uint8Array &&
    Buffer.compare(digestOf(fixed, text, Number(row["active"])), digest) === 0;
  if (!isWhole) throw damaged(row);
  const state = JSON.parse(text) as State;
  const { height = null, recordHash = null } = state.head ?? {};
  if (height !== row["head_height"] || recordHash !== row["head_record_hash"]) throw damaged(row);
  return state;
};

const decode = (row: Row, trust: Trust): Conversation => ({
  state: stateOf(row),
  members: Membership.verify(
    trust.verifier,
    trust.registryKey,
    JSON.parse(row["membership"] as string) as Membership.Membership,
  ),
  address: row["address"] as Address.MessageAddress,
  lane: row["lane"] as Opaque32,
  openedBy: row["opened_by"] as AgentId,
});

export const rowOf = (db: Database, conversationId: ConversationId): Row | undefined =>
  db.get("SELECT * FROM conversation WHERE conversation_id = ?", conversationId);

export const load = (db: Database, trust: Trust, conversationId: ConversationId): Conversation | null => {
  const row = rowOf(db, conversationId);
  return row === undefined ? null : decode(row, trust);
};

export const idOfAddress = (db: Database, address: Address.MessageAddress): ConversationId | null => {
  const row = db.get("SELECT conversation_id FROM conversation WHERE address = ?", address);
  return row === undefined ? null : (row["conversation_id"] as ConversationId);
};

export const idOfLane = (db: Database, lane: Opaque32): ConversationId | null => {
  const row = db.get("SELECT conversation_id FROM conversation WHERE lane = ?", lane);
  return row === undefined ? null : (row["conversation_id"] as ConversationId);
};

/** Conversations with open work, which must be taken up again at start-up and on every connection. */
export const activeIds = (db: Database): ReadonlyArray<ConversationId> =>
  db
    .all("SELECT conversation_id FROM conversation WHERE active = 1")
    .map((row) => row["conversation_id"] as ConversationId);

/** When an own post was taken, in epoch milliseconds; null for one of others. */
export const intentCreatedAt = (db: Database, postId: PostId): number | null => {
  const row = db.get("SELECT created_at FROM intent WHERE post_id = ?", postId);
  return row === undefined ? null : Number(row["created_at"]);
};

/** Conversations with an own intent that was persisted at `createdAt` or before and has not ended. */
export const idsWithIntentsSince = (db: Database, createdAt: number): ReadonlyArray<ConversationId> =>
  db
    .all("SELECT DISTINCT conversation_id FROM intent WHERE outcome IS NULL AND created_at <= ?", createdAt)
    .map((row) => row["conversation_id"] as ConversationId);

export const allIds = (db: Database): ReadonlyArray<ConversationId> =>
  db.all("SELECT conversation_id FROM conversation").map((row) => row["conversation_id"] as ConversationId);

/** How many conversations an agent has opened here that are not certified: in all, and with something under way. */
export const uncertifiedOf = (
  db: Database,
  openedBy: AgentId,
): { readonly count: number; readonly underWay: number } => {
  const row = db.get(
    `SELECT count(*) AS count, coalesce(sum(active), 0) AS under_way FROM conversation
     WHERE head_height IS NULL AND opened_by = ?`,
    openedBy,
  );
  return { count: Number(row?.["count"]), underWay: Number(row?.["under_way"]) };
};

const fixedOf = ({ members: { conversationId, membershipHash }, address, lane, openedBy }: Conversation) => ({
  conversationId,
  membershipHash,
  address,
  lane,
  openedBy,
});

/** Creates the row of a verified membership that `self` belongs to. */
export const create = (
  db: Database,
  members: Membership.Members,
  self: AgentId,
  openedBy = self,
): Conversation => {
  const conversation: Conversation = {
    members,
    address: addressOf(members, self),
    lane: Lane.laneOf(members.ids),
    openedBy,
    state: initial,
  };
  const state = JSON.stringify(initial);
  db.run(
    `INSERT INTO conversation (conversation_id, address, lane, membership, opened_by, state, state_digest, active)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
    members.conversationId,
    conversation.address,
    conversation.lane,
    CanonicalJson.encode(members.membership),
    openedBy,
    state,
    digestOf(fixedOf(conversation), state, 0),
  );
  return conversation;
};

const hasOpenIntent = (db: Database, conversationId: ConversationId): boolean =>
  db.get("SELECT 1 FROM intent WHERE conversation_id = ? AND outcome IS NULL LIMIT 1", conversationId) !==
  undefined;

/** Whether time or a connection alone may have something to do for this state. */
const hasWork = (state: State, n: number): boolean =>
  hasOpenWork(state) ||
  hasCandidate(state) ||
  areLeft(state, n) ||
  state.behind !== null ||
  state.restored !== null ||
  state.spread !== null ||
  state.withdrawing.length > 0 ||
  state.yieldUntil !== null;

export const save = (db: Database, conversation: Conversation): void => {
  const { members, state } = conversation;
  const text = JSON.stringify(state);
  const active = hasWork(state, members.n) || hasOpenIntent(db, members.conversationId) ? 1 : 0;
  db.run(
    `UPDATE conversation SET state = ?, state_digest = ?, active = ?, head_height = ?, head_record_hash = ?
     WHERE conversation_id = ?`,
    text,
    digestOf(fixedOf(conversation), text, active),
    active,
    state.head?.height ?? null,
    state.head?.recordHash ?? null,
    members.conversationId,
  );
};

/** The core of an open record, believed only while it has the hash that it was kept under. */
const coreOf = (row: Row): Record.RecordCore => {
  const text = String(row["core"]);
  if (RecordHash.fromBytes(hashOfText("record", text)) !== row["record_hash"]) throw damaged(row);
  return JSON.parse(text) as Record.RecordCore;
};

/** Persists a post of this agent. `createdAt` in epoch milliseconds. */
export const keepIntent = (
  db: Database,
  intent: Record.PostIntent,
  operationId: OperationId,
  createdAt: number,
): void => {
  db.run(
    `INSERT INTO intent (conversation_id, post_id, operation_id, intent, intent_hash, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    intent.conversationId,
    intent.postId,
    operationId,
    CanonicalJson.encode(intent as CanonicalJson.Json),
    Record.postIntentHashOf(intent),
    createdAt,
  );
};

/** What is still to be said, believed only while it has the hash that it was persisted under. */
const intentOf = (row: Row): Record.PostIntent => {
  const text = String(row["intent"]);
  if (PostIntentHash.fromBytes(hashOfText("post-intent", text)) !== row["intent_hash"]) throw damaged(row);
  const intent = JSON.parse(text) as Record.PostIntent;
  const isInPlace = intent.conversationId === row["conversation_id"] && intent.postId === row["post_id"];
  if (!isInPlace) throw damaged(row);
  return intent;
};

/**
 * Checks that the cores of a conversation's open records are exactly those that its state names, each with its hash, that
 * its open intents are what was persisted, and that the anchors which its state stands on are among `anchors`. Throws `StoreError`.
 */
export const checkOpenWork = (
  db: Database,
  conversationId: ConversationId,
  state: State,
  anchors: ReadonlySet<AnchorHash>,
): void => {
  const rows = db.all("SELECT * FROM candidate WHERE conversation_id = ?", conversationId);
  const held = new Set(rows.map((row) => (coreOf(row), row["record_hash"])));
  const isWhole =
    held.size === state.open.length && state.open.every(({ recordHash }) => held.has(recordHash));
  const named = [state.anchor?.anchorHash, ...state.open.map(({ carry }) => carry?.anchorHash)];
  const isAnchored = named.every((anchorHash) => anchorHash === undefined || anchors.has(anchorHash));
  if (!isWhole || !isAnchored) throw damaged({ conversation_id: conversationId });
  for (const row of db.all(
    "SELECT * FROM intent WHERE conversation_id = ? AND outcome IS NULL",
    conversationId,
  )) {
    intentOf(row);
  }
};

export const readsOf = (db: Database, conversationId: ConversationId): Reads => ({
  nextIntent: (except) => {
    const rows = db.all(
      `SELECT * FROM intent WHERE conversation_id = CAST(? AS TEXT) AND outcome IS NULL
       ORDER BY sequence LIMIT ? + 0`,
      conversationId,
      except.size + 1,
    );
    const next = rows.find((row) => !except.has(row["post_id"] as PostId));
    return next === undefined ? null : { intent: intentOf(next), createdAt: Number(next["created_at"]) };
  },
  core: (recordHash) => {
    const row = db.get(
      "SELECT * FROM candidate WHERE conversation_id = ? AND record_hash = ?",
      conversationId,
      recordHash,
    );
    return row === undefined ? null : coreOf(row);
  },
  postUsed: (author, postId) =>
    db.get(
      "SELECT 1 FROM record WHERE conversation_id = ? AND author_agent_id = ? AND post_id = ?",
      conversationId,
      author,
      postId,
    ) !== undefined,
  hasSigned: (vote, recordHash, anchorHash) =>
    db.get(
      "SELECT 1 FROM own_vote WHERE conversation_id = ? AND kind = ? AND record_hash = ? AND anchor_hash = ?",
      conversationId,
      vote,
      recordHash,
      anchorHash,
    ) !== undefined,
  heightOf: (recordHash) => RecordRows.heightOf(db, conversationId, recordHash),
  anchor: (anchorHash) => AnchorRows.find(db, conversationId, anchorHash),
  recordAt: (height) => RecordRows.at(db, conversationId, height),
  recordsAfter: (height, bytesMax) =>
    RecordRows.list(db, conversationId, {
      after: height,
      through: Number.MAX_SAFE_INTEGER,
      countMax: Limits.historyPageRecordsMax,
      bytesMax,
    }),
});
