// `move`: takes a network's new addresses, for an endpoint that has joined it. The pinned keys stay what they are: who
// speaks at the new addresses with other ones is another network. Implements RUN-47.

import type { Command } from "commander";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, withState } from "../Command.ts";
import { inviteOf, isPinned, pin } from "../daemon/Joining.ts";
import { joinFirst, otherOf, pathOf, type StateOptions } from "../daemon/Profile.ts";
import { failed } from "../Failure.ts";
import { flagsOf } from "../text/Hints.ts";

export const move = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "move",
      summary: "take the network's new addresses, when its Registry or Router has moved",
      examples: [
        ["move shn1_...", "what `network show` prints after the move; no credential is needed"],
        ["move shn1_... --profile work", "another endpoint of this machine"],
      ],
    }),
  ).argument("<network>", "the network's invite, with or without a credential; from stdin when -");
  act<StateOptions, [string]>(command, async ({ output, options }, text) => {
    const invite = await inviteOf(text);
    const folder = StateFolder.at(pathOf(options));
    if (Identity.load(folder) === null || !isPinned(folder)) {
      throw failed("not-joined", `${folder.path} has joined no network yet`, joinFirst);
    }
    const { registryUrl, routerUrl } = pin(folder, invite, {
      withAdmission: false,
      other: otherOf(options),
    });
    const isRunning = EndpointFile.read(folder) !== null;
    const next = isRunning
      ? "stop the daemon, which uses the old ones, and start it again"
      : "start the daemon";
    output.result(
      { kind: "moved", registryUrl, routerUrl, restart: isRunning },
      `Registry  ${registryUrl}\nRouter    ${routerUrl}\nNext: ${next}: social-harness daemon${flagsOf(options)}`,
    );
  });
};
