// Whom the owner lets open a conversation with this agent. Decides about openings only: an established conversation goes on,
// and what is written in one is the firewall's concern. Implements HIS-158.

import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import type { Database } from "../store/Database.ts";
import * as Cards from "../transport/Cards.ts";

export interface ContactPolicy {
  /** `known`: whoever is a member of a certified conversation here already. A list names the only ones. */
  readonly contacts: "everyone" | "known" | ReadonlyArray<AgentName>;
  /** Refused whatever `contacts` says. */
  readonly blocked: ReadonlyArray<AgentName>;
}

export const open: ContactPolicy = { contacts: "everyone", blocked: [] };

/** Memberships hold whole cards, so an agent's id stands in each conversation that it belongs to. */
const isKnown = (db: Database, author: AgentId): boolean =>
  db.get(
    "SELECT 1 FROM conversation WHERE head_height IS NOT NULL AND instr(membership, ?) > 0 LIMIT 1",
    author,
  ) !== undefined;

export const admits = (db: Database, { contacts, blocked }: ContactPolicy, author: AgentId): boolean => {
  const name = Cards.byId(db, author)?.agentName;
  if (name === undefined || blocked.includes(name)) return false;
  if (contacts === "everyone") return true;
  return contacts === "known" ? isKnown(db, author) : contacts.includes(name);
};
