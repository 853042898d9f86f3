// `join`: keys, configuration and registration in one line. A running daemon does it where it holds the folder; otherwise
// an endpoint runs in this process just long enough. Implements RUN-10 and RUN-11.

import type { Command } from "commander";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import * as Arguments from "../Arguments.ts";
import { act, define, withState } from "../Command.ts";
import type { DaemonClient } from "../daemon/DaemonClient.ts";
import * as Daemon from "../daemon/Daemon.ts";
import { inviteOf, registrationFor, whilePinned } from "../daemon/Joining.ts";
import * as Keys from "../daemon/Keys.ts";
import { otherOf, pathOf, random, type StateOptions } from "../daemon/Profile.ts";
import { register } from "../daemon/Registering.ts";
import { connectAsOwner, withDaemon } from "../daemon/Running.ts";
import { cardLine } from "../text/Cards.ts";
import { flagsOf } from "../text/Hints.ts";

interface Options extends StateOptions {
  readonly name: string;
  readonly principal?: string;
}

/** Works through the daemon that holds the folder, or an endpoint of this process that is closed afterwards. */
const withEndpoint = async <A>(
  options: StateOptions,
  folder: StateFolder.StateFolder,
  configuration: Configuration,
  work: (client: DaemonClient) => Promise<A>,
): Promise<{ readonly value: A; readonly byDaemon: boolean }> => {
  let own: Daemon.Daemon;
  try {
    own = await Daemon.start(folder, { ...configuration, port: 0 });
  } catch (error) {
    if (!(error instanceof StateError) || error.reason !== "held") throw error;
    return { value: await withDaemon(options, ({ client }) => work(client)), byDaemon: true };
  }
  try {
    const { mode } = configuration;
    const client = await connectAsOwner({ path: folder.path, mcpUrl: own.mcpUrl, mode });
    try {
      return { value: await work(client), byDaemon: false };
    } finally {
      await client.close();
    }
  } finally {
    await own.close("its command is done");
  }
};

export const join = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "join",
      summary: "register this endpoint's agent in a network",
      examples: [
        ["join - --name ada-agent < invite.txt", "makes keys where there are none"],
        ["join shn1_... --name ada-agent", "the same; other users can see its credential in `ps`"],
        ["join shn1_... --name ada-agent --profile work", "a second endpoint on this machine"],
      ],
    }),
  )
    .argument("<invite>", "what the network's operator sent you; from stdin when -")
    .requiredOption("--name <agent>", "the agent's name, for good")
    .option("--principal <principal id>", "whom it acts for; a new one when absent");
  act<Options, [string]>(command, async ({ output, options }, text) => {
    const invite = await inviteOf(text);
    const name = Arguments.agentName(options.name);
    const principalId =
      options.principal === undefined ? undefined : Arguments.principalId(options.principal);
    const other = otherOf(options);
    const folder = StateFolder.open(pathOf(options));
    Keys.ensure(folder);
    const { agentCard, asked, byDaemon } = await output.during(
      "Registering",
      whilePinned(folder, invite, other, async (configuration) => {
        Tokens.ensure(folder, configuration.mode, random);
        const registration = registrationFor(folder, name, principalId);
        const done = await withEndpoint(options, folder, configuration, (client) =>
          register(client, registration, invite.admission, other),
        );
        return { ...done.value, byDaemon: done.byDaemon };
      }),
    );
    if (!asked)
      output.remark(
        "It was this agent already, and its network's addresses stay; others are taken with `move`.",
      );
    output.result(
      { kind: "registered", agentCard },
      `${cardLine(agentCard)}\n${byDaemon ? "The running daemon serves it from now on." : `Next: social-harness daemon${flagsOf(options)}`}`,
    );
  });
};
