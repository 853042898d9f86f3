// Verified cards of other agents, kept for ever because cards are immutable. A card gets in only after it verified under
// the pinned Registry key.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentCardDigest, AgentId } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "../store/Database.ts";

/** Texts that were decoded before, the oldest dropped first: every envelope asks for its sender's card. */
const decodedMax = 1_024;
const decoded = new Map<AgentCard.EncodedAgentCard, AgentCard.AgentCard>();
const digests = new WeakMap<AgentCard.AgentCard, AgentCardDigest>();

const decode = (row: Row | undefined): AgentCard.AgentCard | null => {
  if (row === undefined) return null;
  const text = row["card"] as AgentCard.EncodedAgentCard;
  const known = decoded.get(text);
  if (known !== undefined) return known;
  const card = AgentCard.decode(text);
  if (decoded.size >= decodedMax) decoded.delete(decoded.keys().next().value as AgentCard.EncodedAgentCard);
  decoded.set(text, card);
  return card;
};

/** `AgentCard.digestOf`, computed once for each card at hand. */
export const digestOf = (card: AgentCard.AgentCard): AgentCardDigest => {
  const digest = digests.get(card) ?? AgentCard.digestOf(card);
  digests.set(card, digest);
  return digest;
};

export const byId = (db: Database, agentId: AgentId): AgentCard.AgentCard | null =>
  decode(db.get("SELECT card FROM card WHERE agent_id = ?", agentId));

export const byName = (db: Database, agentName: AgentName): AgentCard.AgentCard | null =>
  decode(db.get("SELECT card FROM card WHERE agent_name = ?", agentName));

/** Keeps a verified card. The first card of an agent or a name stays: another one is another claim, not an update. */
export const keep = (db: Database, card: AgentCard.AgentCard): void => {
  db.run(
    "INSERT OR IGNORE INTO card (agent_id, agent_name, card) VALUES (?, ?, ?)",
    card.agentId,
    card.agentName,
    AgentCard.encode(card),
  );
};
