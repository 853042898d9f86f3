// Verified cards of other agents, kept for ever because cards are immutable. A card gets in only after it verified under
// the pinned Registry key.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import type { Database, Row } from "../store/Database.ts";

const decode = (row: Row | undefined): AgentCard.AgentCard | null =>
  row === undefined ? null : AgentCard.decode(row["card"] as AgentCard.EncodedAgentCard);

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
