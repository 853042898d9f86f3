// How a network and its invites look to its operator.

import type { InviteSummary } from "@social-harness/registry/Invites";
import { count, type Output } from "../Output.ts";
import type { announcement } from "../network/NetworkFolder.ts";
import { localDate } from "./Cards.ts";

/** `admits` says whom the invite lets in: it looks like one that does, and mostly lets in nobody. */
export const announcementLines = (
  { style }: Output,
  network: ReturnType<typeof announcement>,
  admits: string,
): string =>
  [
    `Registry  ${network.registryUrl}  ${style("dim", `key ${network.registryKey}`)}`,
    `Router    ${network.routerUrl}  ${style("dim", `key ${network.routerKey}`)}`,
    `Network   ${network.invite}`,
    `          ${style("yellow", admits)}`,
  ].join("\n");

/** For an operator whose Registry's log is older than it was, or gone. */
export const forgottenLines = (agents: number): string => {
  const are = agents === 1 ? "is" : "are";
  return [
    `Warning   ${count(agents, "agent")} that used this network ${are} not in registry.sqlite: it is an old copy, or was lost.`,
    "          Names of theirs can be taken again. Where you have a newer copy, stop and restore it now.",
  ].join("\n");
};

export const inviteLine = ({ style }: Output, invite: InviteSummary): string => {
  const state = style(invite.state === "open" ? "green" : "dim", invite.state.padEnd(7));
  const when = invite.revokedAt === null ? "" : `, revoked ${localDate(invite.revokedAt)}`;
  return `${invite.inviteId}  ${state}  ${invite.used} of ${invite.uses} used, made ${localDate(invite.createdAt)}${when}`;
};
