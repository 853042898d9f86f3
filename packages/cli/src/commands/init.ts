// `init`: the keys of a new endpoint, and with an invite the network that it belongs to. Registers nothing.

import type { Command } from "commander";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { act, define, withState } from "../Command.ts";
import { inviteOf, pin } from "../daemon/Joining.ts";
import * as Keys from "../daemon/Keys.ts";
import { otherOf, pathOf, random, type StateOptions } from "../daemon/Profile.ts";
import { flagsOf } from "../text/Hints.ts";

export const init = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "init",
      summary: "make the keys of an endpoint",
      examples: [
        ["init", "keys only; `join` does this by itself where there are none"],
        ["init - < invite.txt", "keys and network, for a daemon whose host will register the agent"],
      ],
    }),
  ).argument("[invite]", "pins the network that it describes; from stdin when -");
  act<StateOptions, [string | undefined]>(command, async ({ output, options }, text) => {
    const invite = text === undefined ? null : await inviteOf(text);
    const folder = StateFolder.open(pathOf(options));
    const { identity, isNew } = Keys.ensure(folder);
    const configuration =
      invite === null ? null : pin(folder, invite, { withAdmission: true, other: otherOf(options) });
    // Without a network there is no configuration to say the mode; the daemon makes what is missing for its own.
    Tokens.ensure(folder, configuration?.mode ?? "trusted-local", random);
    const { signingKey, sealingKey } = identity;
    const next =
      invite === null
        ? `Next: social-harness join <invite> --name <agent>${flagsOf(options)}`
        : `Next: social-harness daemon${flagsOf(options)}`;
    output.result(
      { state: folder.path, signingKey, sealingKey, created: isNew },
      `${isNew ? "Made keys" : "Kept the keys"} in ${folder.path}\nsigning key ${signingKey}\n${next}`,
    );
  });
};
