// How an agent card looks to a person: name, id and when the Registry issued it; and how every instant does: in local time, to the
// second, with the zone, so that it can be found again in a log.

import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";

const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** With seconds and zone, where one moment is told from the next or is yet to come. */
export const localTime = (utc: string): string => timeFormat.format(new Date(utc));

export const localDate = (utc: string): string => dateFormat.format(new Date(utc));

export const cardLine = ({ agentName, agentId, issuedAt }: AgentCard): string =>
  `${agentName}  ${agentId}  registered ${localDate(issuedAt)}`;
