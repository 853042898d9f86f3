// `network`: what the operator of a network does.

import type { Command } from "commander";
import { networkInviteCreate, networkInviteList, networkInviteRevoke } from "./network-invite.ts";
import { networkShow } from "./network-show.ts";
import { networkStart } from "./network-start.ts";

export const network = (parent: Command): void => {
  const command = parent.command("network").description("run a network and decide who may join");
  networkStart(command);
  networkShow(command);
  const invite = command.command("invite").description("make, list and revoke invites");
  networkInviteCreate(invite);
  networkInviteList(invite);
  networkInviteRevoke(invite);
};
