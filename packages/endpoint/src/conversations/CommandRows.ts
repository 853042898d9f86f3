// What the fold's commands write: one command, one change of rows, in the caller's transaction. A commit brings the pending
// row of a remote post with it. Packets to be sent are gathered by the caller. Knows the tables, not the rules.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Command } from "@social-harness/protocol/conversation/Command";
import type { AgentId, ConversationId } from "@social-harness/protocol/identity/Identifier";
import * as AnchorRows from "../store/AnchorRows.ts";
import type { Database } from "../store/Database.ts";
import * as RecordRows from "../store/RecordRows.ts";

/** Writes what one command asks for. Sends are gathered by the caller and become envelopes before the commit. */
export const write = (
  db: Database,
  conversationId: ConversationId,
  self: AgentId,
  command: Command,
): void => {
  switch (command.kind) {
    case "keep-core":
      db.run(
        "INSERT INTO candidate (conversation_id, record_hash, height, core) VALUES (?, ?, ?, ?)",
        conversationId,
        command.recordHash,
        command.core.action.height,
        CanonicalJson.encode(command.core as CanonicalJson.Json),
      );
      return;
    case "drop-core":
      db.run(
        "DELETE FROM candidate WHERE conversation_id = ? AND record_hash = ?",
        conversationId,
        command.recordHash,
      );
      return;
    case "keep-anchor":
      AnchorRows.insert(db, conversationId, command.anchorHash, command.anchor);
      return;
    case "own-vote":
      db.run(
        `INSERT INTO own_vote (conversation_id, kind, height, round, record_hash, anchor_hash, in_proposal, signature)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        conversationId,
        command.vote,
        command.height,
        command.round,
        command.recordHash,
        command.anchorHash,
        command.inProposal ? 1 : 0,
        command.signature,
      );
      return;
    case "void-vote":
      db.run(
        "UPDATE own_vote SET void = 1 WHERE conversation_id = ? AND record_hash = ? AND kind = 'action'",
        conversationId,
        command.recordHash,
      );
      return;
    case "commit": {
      RecordRows.insert(db, command.record);
      const { recordHash, recordCore } = command.record;
      if (recordCore.action.authorAgentId !== self) {
        db.run(
          "INSERT INTO pending (conversation_id, record_hash) VALUES (?, ?)",
          conversationId,
          recordHash,
        );
      }
      return;
    }
    case "intent-ended":
      db.run(
        "UPDATE intent SET outcome = ?, refused_by = ? WHERE post_id = ?",
        command.outcome,
        command.outcome === "refused" ? command.by : null,
        command.postId,
      );
      return;
    case "note":
    case "multicast":
    case "unicast":
      return;
  }
};
