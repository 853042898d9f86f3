// Who has ever sent anything over the Router of a log: read from its tables, whether or not a Router runs on them. Each of
// these agents showed a card of the network's Registry when it connected, so the Registry must know it.

import type { DatabaseSync } from "node:sqlite";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";

/** In no particular order; none where no Router has run on this file yet. */
export const sendersIn = (database: DatabaseSync): ReadonlyArray<AgentId> => {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'router_agent'").get();
  if (table === undefined) return [];
  return database
    .prepare("SELECT agent_id FROM router_agent WHERE accepted_sends > 0")
    .all()
    .map((row) => row["agent_id"] as AgentId);
};
