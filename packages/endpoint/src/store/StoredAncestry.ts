// What the laws of a chain ask of the records below the one under verification, answered from the store's rows.

import type { Ancestry } from "@social-harness/protocol/history/VerifyRecord";
import type { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Database } from "./Database.ts";
import * as RecordRows from "./RecordRows.ts";

/** The ancestry of records from `height` on: a post counts as used when a record below that height carries it. */
export const below = (db: Database, conversationId: ConversationId, height: number): Ancestry => ({
  postUsed: (author, postId) => {
    const row = db.get(
      "SELECT height FROM record WHERE conversation_id = ? AND author_agent_id = ? AND post_id = ?",
      conversationId,
      author,
      postId,
    );
    return row !== undefined && Number(row["height"]) < height;
  },
  find: (recordHash) => {
    const at = RecordRows.heightOf(db, conversationId, recordHash);
    const record = at === null ? null : RecordRows.at(db, conversationId, at);
    return record === null
      ? null
      : { height: record.recordCore.action.height, anchorHash: record.recordCore.anchorHash };
  },
  hashAt: (at) => RecordRows.at(db, conversationId, at)?.recordHash ?? null,
});
