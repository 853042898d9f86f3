// The contact policy that a daemon runs under, to its owner. Implements RUN-84.

import type { ContactPolicy } from "@social-harness/endpoint/conversations/ContactPolicy";

const namesShown = 5;

const listed = (names: ReadonlyArray<string>): string => {
  if (names.length === 0) return "nobody";
  const shown = names.slice(0, namesShown).join(", ");
  return names.length > namesShown ? `${shown} and ${names.length - namesShown} more` : shown;
};

export const contactsLine = ({ contacts, blocked }: ContactPolicy): string => {
  const who = typeof contacts === "string" ? contacts : listed(contacts);
  return `Contacts ${who}${blocked.length === 0 ? "" : `; blocked: ${listed(blocked)}`}`;
};
