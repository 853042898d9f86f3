// Whom the owner lets open a conversation with this agent. Decides about openings only: an established conversation goes on,
// and what is written in one is the firewall's concern. Implements HIS-158.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
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

/** The policy in words, as they stand in the configuration: each of its two parts. */
export const describe = ({ contacts, blocked }: ContactPolicy) => {
  const listed = (names: ReadonlyArray<AgentName>): string =>
    names.length === 0 ? "nobody" : names.join(",");
  return { contacts: typeof contacts === "string" ? contacts : listed(contacts), blocked: listed(blocked) };
};

export const open: ContactPolicy = { contacts: "everyone", blocked: [] };

/** Memberships hold whole cards in their one encoding, so that of an agent stands in each conversation that it is in. */
const isKnown = (db: Database, card: AgentCard.AgentCard): boolean =>
  db.get(
    "SELECT 1 FROM conversation WHERE head_height IS NOT NULL AND instr(membership, ?) > 0 LIMIT 1",
    AgentCard.encode(card),
  ) !== undefined;

export const admits = (db: Database, { contacts, blocked }: ContactPolicy, author: AgentId): boolean => {
  const card = Cards.byId(db, author);
  if (card === null || blocked.includes(card.agentName)) return false;
  if (contacts === "everyone") return true;
  return contacts === "known" ? isKnown(db, card) : contacts.includes(card.agentName);
};
