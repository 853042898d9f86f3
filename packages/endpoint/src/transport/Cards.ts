// Verified cards of other agents, kept for ever because cards are immutable. A card gets in only after it verified under
// the pinned Registry key.

import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentCardDigest, AgentId } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "../store/Database.ts";
import { StoreError } from "../store/StoreError.ts";

/** Texts that were decoded before, the oldest dropped first: every envelope asks for its sender's card. */
const decodedMax = 1_024;
const decoded = new Map<AgentCard.EncodedAgentCard, AgentCard.AgentCard>();
const digests = new WeakMap<AgentCard.AgentCard, AgentCardDigest>();

const damaged = (row: Row): StoreError =>
  new StoreError(
    "corrupt",
    `the stored card of ${String(row["agent_name"])} was changed outside this program`,
    "restore the store from a backup, nothing has been changed or deleted",
  );

/** `AgentCard.decode`, done once for each text at hand. */
export const ofText = (text: AgentCard.EncodedAgentCard): AgentCard.AgentCard => {
  const known = decoded.get(text);
  if (known !== undefined) return known;
  const card = AgentCard.decode(text);
  if (decoded.size >= decodedMax) decoded.delete(decoded.keys().next().value as AgentCard.EncodedAgentCard);
  decoded.set(text, card);
  return card;
};

const ofRow = (row: Row): AgentCard.AgentCard => {
  try {
    return ofText(row["card"] as AgentCard.EncodedAgentCard);
  } catch (error) {
    throw error instanceof DecodeError ? damaged(row) : error;
  }
};

/** The card of a row, believed only while it is the one that was verified. Throws `StoreError`. */
export const decode = (row: Row): AgentCard.AgentCard => {
  const card = ofRow(row);
  const isWhole =
    digestOf(card) === row["card_digest"] &&
    card.agentId === row["agent_id"] &&
    card.agentName === row["agent_name"];
  if (!isWhole) throw damaged(row);
  return card;
};

/** `AgentCard.digestOf`, computed once for each card at hand. */
export const digestOf = (card: AgentCard.AgentCard): AgentCardDigest => {
  const digest = digests.get(card) ?? AgentCard.digestOf(card);
  digests.set(card, digest);
  return digest;
};

export const byId = (db: Database, agentId: AgentId): AgentCard.AgentCard | null => {
  const row = db.get("SELECT * FROM card WHERE agent_id = ?", agentId);
  return row === undefined ? null : decode(row);
};

export const byName = (db: Database, agentName: AgentName): AgentCard.AgentCard | null => {
  const row = db.get("SELECT * FROM card WHERE agent_name = ?", agentName);
  return row === undefined ? null : decode(row);
};

/** Keeps a verified card. The first card of an agent or a name stays: another one is another claim, not an update. */
export const keep = (db: Database, card: AgentCard.AgentCard): void => {
  db.run(
    "INSERT OR IGNORE INTO card (agent_id, agent_name, card, card_digest) VALUES (?, ?, ?, ?)",
    card.agentId,
    card.agentName,
    AgentCard.encode(card),
    digestOf(card),
  );
};
