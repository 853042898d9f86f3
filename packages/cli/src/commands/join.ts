// `join`: keys, configuration and registration in one line. A running daemon does it where it holds the folder; otherwise
// an endpoint runs in this process just long enough. Implements RUN-10 and RUN-11.

import type { Command } from "commander";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as OwnerToken from "@social-harness/endpoint/state/OwnerToken";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { act, define, withState } from "../Command.ts";
import { connect, type DaemonClient } from "../daemon/DaemonClient.ts";
import * as Daemon from "../daemon/Daemon.ts";
import { pin, readInvite, registrationFor } from "../daemon/Joining.ts";
import { flagsOf, pathOf, random, type StateOptions } from "../daemon/Profile.ts";
import { register } from "../daemon/Registering.ts";
import { withDaemon } from "../daemon/Running.ts";
import { misused } from "../Failure.ts";
import { cardLine } from "../text/Cards.ts";

interface Options extends StateOptions {
  readonly name: string;
  readonly principal?: string;
}

const checkName = (name: string): AgentName.AgentName => {
  if (AgentName.is(name)) return name;
  throw misused("that is no agent name", "A name has 3 to 32 of a-z and 0-9, with single hyphens inside.");
};

const checkPrincipal = (principal: string | undefined): PrincipalId | undefined => {
  if (principal === undefined || PrincipalId.is(principal)) return principal;
  throw misused(
    "that is no principal",
    "A principal is prn_ and 22 characters; leave it out to get a new one.",
  );
};

/** The daemon that holds the folder, or an endpoint of this process that is closed afterwards. */
const withEndpoint = async <A>(
  options: StateOptions,
  folder: StateFolder.StateFolder,
  configuration: Configuration,
  work: (client: DaemonClient) => Promise<A>,
): Promise<A> => {
  let own: Daemon.Daemon;
  try {
    own = await Daemon.start(folder, { ...configuration, port: 0 });
  } catch (error) {
    if (!(error instanceof StateError) || error.reason !== "held") throw error;
    return withDaemon(options, ({ client }) => work(client));
  }
  try {
    const client = await connect(own.mcpUrl);
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  } finally {
    await own.close();
  }
};

export const join = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "join",
      summary: "register this endpoint's agent in a network",
      examples: [
        ["join shn1_... --name ada-agent", "makes keys where there are none"],
        ["join shn1_... --name ada-agent --profile work", "a second endpoint on this machine"],
      ],
    }),
  )
    .argument("<invite>", "what the network's operator sent you")
    .requiredOption("--name <agent>", "the agent's name, for good")
    .option("--principal <principal id>", "whom it acts for; a new one when absent");
  act<Options, [string]>(command, async ({ output, options }, text) => {
    const invite = readInvite(text);
    const name = checkName(options.name);
    const principalId = checkPrincipal(options.principal);
    const folder = StateFolder.open(pathOf(options));
    if (Identity.load(folder) === null) Identity.create(folder, random);
    OwnerToken.ensure(folder, random);
    const configuration = pin(folder, invite, { withAdmission: false });
    const registration = registrationFor(folder, name, principalId);
    const agentCard = await output.during(
      "Registering",
      withEndpoint(options, folder, configuration, (client) =>
        register(client, registration, invite.admission),
      ),
    );
    output.result(
      { kind: "registered", agentCard },
      `${cardLine(agentCard)}\nNext: social-harness daemon${flagsOf(options)}`,
    );
  });
};
