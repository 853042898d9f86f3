// Certified records as rows: canonical text in, the same record out. A row is believed only when its texts still have the
// hashes they were stored under, so one changed byte never leaves as history. Implements HIS-65.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import type { Evidence, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { RecordCore } from "@social-harness/protocol/history/Record";
import { type ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "./Database.ts";
import { StoreError } from "./StoreError.ts";

export const columns =
  "sequence, conversation_id, height, record_hash, author_agent_id, post_id, core, evidence, evidence_digest";

const corrupt = (row: Row, what: string): never => {
  throw new StoreError(
    "corrupt",
    `the stored record at height ${String(row["height"])} of conversation ${String(row["conversation_id"])} ${what}, and the file was changed outside this program`,
    "restore it from a backup, nothing has been changed or deleted",
  );
};

/** Decodes a row of `columns`. Throws `StoreError` with reason `corrupt` when any of its texts is not what was stored. */
export const decode = (row: Row): HistoryRecord => {
  const core = String(row["core"]);
  const evidence = String(row["evidence"]);
  const recordHash = RecordHash.fromBytes(hashOfText("record", core));
  if (recordHash !== row["record_hash"]) return corrupt(row, "does not have the hash it was stored under");
  if (Base64Url.encode(hashOfText("evidence", evidence)) !== row["evidence_digest"]) {
    return corrupt(row, "has evidence that does not match its digest");
  }
  const recordCore = JSON.parse(core) as RecordCore;
  const { action } = recordCore;
  if (
    action.height !== row["height"] ||
    action.conversationId !== row["conversation_id"] ||
    action.authorAgentId !== row["author_agent_id"] ||
    action.postIntent.postId !== row["post_id"]
  ) {
    return corrupt(row, "is filed under another place than its own");
  }
  return { recordHash, recordCore, ...(JSON.parse(evidence) as Evidence) };
};

/** Stores a record that has been verified. Constraints refuse a second record at a height and a repeated post. */
export const insert = (db: Database, record: HistoryRecord): void => {
  const { recordHash, recordCore, actionSignatures, durabilityVotes, routerAnchor, durabilityAnchor } =
    record;
  const { action } = recordCore;
  const evidence = CanonicalJson.encode({
    actionSignatures,
    durabilityVotes,
    routerAnchor,
    durabilityAnchor,
  } as CanonicalJson.Json);
  db.run(
    `INSERT INTO record (conversation_id, height, record_hash, author_agent_id, post_id, core, evidence, evidence_digest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    action.conversationId,
    action.height,
    recordHash,
    action.authorAgentId,
    action.postIntent.postId,
    CanonicalJson.encode(recordCore as CanonicalJson.Json),
    evidence,
    Base64Url.encode(hashOfText("evidence", evidence)),
  );
};

export const at = (db: Database, conversationId: ConversationId, height: number): HistoryRecord | null => {
  const row = db.get(
    `SELECT ${columns} FROM record WHERE conversation_id = ? AND height = ?`,
    conversationId,
    height,
  );
  return row === undefined ? null : decode(row);
};

export const heightOf = (db: Database, conversationId: ConversationId, recordHash: string): number | null => {
  const row = db.get(
    "SELECT height FROM record WHERE record_hash = ? AND conversation_id = ?",
    recordHash,
    conversationId,
  );
  return row === undefined ? null : Number(row["height"]);
};

/** Whether the records of these heights, inclusive, were each committed after the one below it. */
export const areInOrder = (
  db: Database,
  conversationId: ConversationId,
  from: number,
  through: number,
): boolean =>
  db.get(
    `SELECT 1 FROM record AS upper JOIN record AS lower
       ON lower.conversation_id = upper.conversation_id AND lower.height = upper.height - 1
     WHERE upper.conversation_id = CAST(? AS TEXT) AND upper.height BETWEEN ? AND ? AND lower.sequence >= upper.sequence LIMIT 1`,
    conversationId,
    from,
    through,
  ) === undefined;

/** What the fields of a record add to its two texts wherever records are listed. */
const frameBytes = 96;

export interface Listing {
  /** Records above this height; -1 for all. */
  readonly after: number;
  /** And not above this one. */
  readonly through: number;
  readonly countMax: number;
  readonly bytesMax: number;
}

/** Records in chain order within the bounds, at least one when there is one; `hasMore` says whether others follow. */
export const list = (
  db: Database,
  conversationId: ConversationId,
  { after, through, countMax, bytesMax }: Listing,
): { readonly records: ReadonlyArray<HistoryRecord>; readonly hasMore: boolean } => {
  const sizes = db.all(
    `SELECT height, octet_length(core) + octet_length(evidence) AS bytes FROM record
     WHERE conversation_id = CAST(? AS TEXT) AND height > ? AND height <= ? ORDER BY height LIMIT ? + 0`,
    conversationId,
    after,
    through,
    countMax + 1,
  );
  let bytes = 0;
  let last = after;
  for (const [index, row] of sizes.slice(0, countMax).entries()) {
    bytes += Number(row["bytes"]) + frameBytes;
    if (index > 0 && bytes > bytesMax) break;
    last = Number(row["height"]);
  }
  const rows = db.all(
    `SELECT ${columns} FROM record
     WHERE conversation_id = CAST(? AS TEXT) AND height > ? AND height <= ? ORDER BY height`,
    conversationId,
    after,
    last,
  );
  return { records: rows.map(decode), hasMore: sizes.length > rows.length };
};
