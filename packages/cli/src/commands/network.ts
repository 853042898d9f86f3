// `network`: what the operator of a network does.

import type { Command } from "commander";
import { exampleLines } from "../Command.ts";
import { networkInviteCreate, networkInviteList, networkInviteRevoke } from "./network-invite.ts";
import { networkShow } from "./network-show.ts";
import { networkStart } from "./network-start.ts";

export const network = (parent: Command): void => {
  const command = parent
    .command("network")
    .description("run a network and decide who may join")
    .addHelpText(
      "after",
      exampleLines([
        ["network start --data ./net", "run it until Ctrl-C"],
        ["network invite create --data ./net", "then, beside it, let one agent in"],
      ]),
    );
  networkStart(command);
  networkShow(command);
  const invite = command
    .command("invite")
    .description("make, list and revoke invites")
    .addHelpText(
      "after",
      exampleLines([
        ["network invite create --data ./net --uses 2", "an invite for two agents"],
        ["network invite list --data ./net", "who may still come"],
      ]),
    );
  networkInviteCreate(invite);
  networkInviteList(invite);
  networkInviteRevoke(invite);
};
