// `init`: the keys of a new endpoint, and with an invite the network that it belongs to. Registers nothing.

import type { Command } from "commander";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as OwnerToken from "@social-harness/endpoint/state/OwnerToken";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, withState } from "../Command.ts";
import { pin, readInvite } from "../daemon/Joining.ts";
import { otherOf, pathOf, random, type StateOptions } from "../daemon/Profile.ts";
import { flagsOf } from "../text/Hints.ts";

export const init = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "init",
      summary: "make the keys of an endpoint",
      examples: [
        ["init", "keys only; `join` does this by itself where there are none"],
        ["init shn1_...", "keys and network, for a daemon whose host will register the agent"],
      ],
    }),
  ).argument("[invite]", "pins the network that it describes");
  act<StateOptions, [string | undefined]>(command, async ({ output, options }, text) => {
    const invite = text === undefined ? null : readInvite(text);
    const folder = StateFolder.open(pathOf(options));
    const existing = Identity.load(folder);
    const identity = existing ?? Identity.create(folder, random);
    OwnerToken.ensure(folder, random);
    if (invite !== null) pin(folder, invite, { withAdmission: true, other: otherOf(options) });
    const { signingKey, sealingKey } = identity;
    const next =
      invite === null
        ? `Next: social-harness join <invite> --name <agent>${flagsOf(options)}`
        : `Next: social-harness daemon${flagsOf(options)}`;
    output.result(
      { state: folder.path, signingKey, sealingKey, created: existing === null },
      `${existing === null ? "Made keys" : "Kept the keys"} in ${folder.path}\nsigning key ${signingKey}\n${next}`,
    );
  });
};
