// Accepted anchors as rows: canonical text in, the same anchor out, believed only while the row is what was stored, the
// statements of a re-anchor included, which its hash does not cover. Never deleted. Implements HIS-138.

import { hash } from "node:crypto";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { RouterAnchor } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { AnchorHash, ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "./Database.ts";
import { StoreError } from "./StoreError.ts";
import * as Settings from "./Settings.ts";

const digestOf = (conversationId: string, anchorHash: string, anchor: string): Buffer =>
  hash("sha256", JSON.stringify([conversationId, anchorHash, anchor]), "buffer");

const damaged = (conversationId: string): StoreError =>
  new StoreError(
    "corrupt",
    `a stored anchor of conversation ${conversationId} was changed outside this program`,
    "restore the store from a backup, nothing has been changed or deleted",
  );

const decode = (row: Row): RouterAnchor => {
  const conversationId = String(row["conversation_id"]);
  const anchorHash = String(row["anchor_hash"]);
  const text = String(row["anchor"]);
  const digest = row["digest"];
  const isWhole =
    digest instanceof Uint8Array && Buffer.compare(digestOf(conversationId, anchorHash, text), digest) === 0;
  if (!isWhole) throw damaged(conversationId);
  const anchor = JSON.parse(text) as RouterAnchor;
  if (Reanchor.hashOf(anchor) !== anchorHash) throw damaged(conversationId);
  return anchor;
};

/** Keeps an anchor that was accepted in the Router's current term. */
export const insert = (
  db: Database,
  conversationId: ConversationId,
  anchorHash: AnchorHash,
  anchor: RouterAnchor,
): void => {
  const text = CanonicalJson.encode(anchor as CanonicalJson.Json);
  db.run(
    "INSERT INTO anchor (conversation_id, anchor_hash, anchor, digest, term) VALUES (?, ?, ?, ?, ?)",
    conversationId,
    anchorHash,
    text,
    digestOf(conversationId, anchorHash, text),
    Settings.integer(db, "router_term"),
  );
};

export const find = (
  db: Database,
  conversationId: ConversationId,
  anchorHash: AnchorHash,
): RouterAnchor | null => {
  const row = db.get(
    "SELECT * FROM anchor WHERE conversation_id = ? AND anchor_hash = ?",
    conversationId,
    anchorHash,
  );
  return row === undefined ? null : decode(row);
};

/** The anchors of a conversation, each whole. Throws `StoreError`. */
export const hashesOf = (db: Database, conversationId: ConversationId): ReadonlySet<AnchorHash> =>
  new Set(
    db
      .all("SELECT * FROM anchor WHERE conversation_id = ?", conversationId)
      .map((row) => Reanchor.hashOf(decode(row))),
  );
