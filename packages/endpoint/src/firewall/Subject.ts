// What rules and checkers get to know about a queued item: who sent it, for which principal, and whether it is somebody known.
// Reads what is certified here and decides nothing. Implements ING-134.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import type { ContactPolicy } from "../conversations/ContactPolicy.ts";
import * as Classify from "../ingress/Classify.ts";
import type { Database } from "../store/Database.ts";
import type { Queued } from "./Queue.ts";
import type { Subject } from "./Verdict.ts";

export interface SubjectOptions {
  readonly db: Database;
  /** This endpoint's own agent. */
  readonly self: AgentId;
  /** Those whom the owner's configuration lists are known without a word. */
  readonly contacts: ContactPolicy["contacts"];
}

/**
 * Whether this agent had posted to another one before a record came here. Its own post in a group is one to each member;
 * memberships hold whole cards in their one encoding.
 */
const hasWritten = ({ db, self }: SubjectOptions, sender: AgentCard.AgentCard, sequence: number): boolean =>
  db.get(
    `SELECT 1 FROM conversation JOIN record USING (conversation_id)
     WHERE instr(membership, ?) > 0 AND author_agent_id = ? AND sequence < ? LIMIT 1`,
    AgentCard.encode(sender),
    self,
    sequence,
  ) !== undefined;

/** null for what this endpoint tells its own host. Throws `DecodeError` for a membership that cannot be read. */
export const of = (options: SubjectOptions, entry: Queued): Subject | null => {
  const { item, recordHash, conversationId, queuedAt } = entry;
  if (recordHash === null || item.kind === "operationFailed") return null;
  const record = options.db.get(
    "SELECT sequence, author_agent_id FROM record WHERE record_hash = ?",
    recordHash,
  );
  const members = Classify.cardsOf(options.db, conversationId);
  const sender = members.find(({ agentId }) => agentId === record?.["author_agent_id"]);
  if (sender === undefined) throw new Error("a queued item has no author among the members");
  const { contacts } = options;
  const isListed = typeof contacts !== "string" && contacts.includes(sender.agentName);
  const order = Number(record?.["sequence"]);
  const isKnown = isListed || hasWritten(options, sender, order);
  return { item, recordHash, sender, isKnown, order, receivedAt: queuedAt };
};
