// How a network and its invites look to its operator.

import type { InviteSummary } from "@social-harness/registry/Invites";
import type { Output } from "../Output.ts";
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

export const inviteLine = ({ style }: Output, invite: InviteSummary): string => {
  const state = style(invite.state === "open" ? "green" : "dim", invite.state.padEnd(7));
  const when = invite.revokedAt === null ? "" : `, revoked ${localDate(invite.revokedAt)}`;
  return `${invite.inviteId}  ${state}  ${invite.used} of ${invite.uses} used, made ${localDate(invite.createdAt)}${when}`;
};
