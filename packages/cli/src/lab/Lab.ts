// A network and its endpoints in a temporary folder, for the demo and the replay. Everything that is started here is
// ended here, whatever happens in between.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Schema from "effect/Schema";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Invite from "@social-harness/registry/Invite";
import { connect, type DaemonClient } from "../daemon/DaemonClient.ts";
import { pin, registrationFor } from "../daemon/Joining.ts";
import { random } from "../daemon/Profile.ts";
import { register } from "../daemon/Registering.ts";
import { withInvites } from "../network/InviteBook.ts";
import * as Child from "./Child.ts";
import type { CleanUp } from "./Interruptible.ts";

const decodeNetwork = Closed.decoder(
  Schema.Struct({ ...Invite.NetworkDescription.fields, invite: Schema.String }),
);
const decodeDaemon = Closed.decoder(
  Schema.Struct({
    pid: Schema.Int,
    mcpUrl: Schema.String,
    mode: Schema.String,
    contacts: Schema.Union([Schema.Literals(["everyone", "known"]), Schema.Array(Schema.String)]),
    blocked: Schema.Array(Schema.String),
  }),
);

/** Processes that start at the same time: more than the cores only makes each of them slower. */
const startsAtOnce = 4;

export interface LabAgent {
  readonly name: AgentName;
  readonly state: string;
  /** The MCP client of the endpoint, as soon as it runs. */
  readonly client: () => Promise<DaemonClient>;
  readonly start: () => Promise<void>;
  /** SIGTERM; resolves with whether it ended by itself in time. */
  readonly stop: () => Promise<boolean>;
  readonly kill: () => Promise<void>;
}

export interface Lab {
  readonly folder: string;
  readonly network: Invite.NetworkDescription;
  readonly agents: ReadonlyArray<LabAgent>;
  readonly agent: (name: string) => LabAgent;
}

const makeAgent = (folder: string, name: AgentName): LabAgent => {
  const state = join(folder, name);
  let child: Child.Child | null = null;
  let client: DaemonClient | null = null;
  let running = Promise.withResolvers<DaemonClient>();
  const leave = async (): Promise<Child.Child | null> => {
    const left = child;
    child = null;
    running = Promise.withResolvers<DaemonClient>();
    await client?.close();
    client = null;
    return left;
  };
  return {
    name,
    state,
    client: () => running.promise,
    start: async () => {
      child = await Child.start(["daemon", "--state", state, "--port", "0", "--json"]);
      client = await connect(decodeDaemon(child.ready).mcpUrl);
      running.resolve(client);
    },
    stop: async () => (await (await leave())?.stop()) ?? true,
    kill: async () => {
      // Before the client closes: what is under way must meet its end at the endpoint, not here.
      const killed = child?.kill();
      await leave();
      await killed;
    },
  };
};

const enter = async (
  agent: LabAgent,
  network: Invite.NetworkDescription,
  admission: string,
): Promise<void> => {
  const folder = StateFolder.open(agent.state);
  Identity.create(folder, random);
  pin(folder, network, { withAdmission: false, other: "--state" });
  await agent.start();
  await register(await agent.client(), registrationFor(folder, agent.name, undefined), admission, "--state");
};

/** Runs `work` over all of `values`, `atOnce` at a time. Waits for all that were begun, also when one fails. */
const pool = async <A>(values: ReadonlyArray<A>, atOnce: number, work: (value: A) => Promise<void>) => {
  const waiting = values.values();
  const lane = async (): Promise<void> => {
    for (const value of waiting) await work(value);
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
};

/** Starts a network and one registered endpoint a name. All of it is gone after what is given to `cleanUp`. */
export const open = async (names: ReadonlyArray<AgentName>, cleanUp: CleanUp): Promise<Lab> => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-"));
  const data = join(folder, "network");
  const agents = names.map((name) => makeAgent(join(folder, "agents"), name));
  let networkChild: Child.Child | null = null;
  cleanUp(async () => {
    await Promise.allSettled(agents.map((agent) => agent.stop()));
    await networkChild?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  networkChild = await Child.start(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"]);
  const { invite: _withoutCredential, ...network } = decodeNetwork(networkChild.ready);
  const { credential } = await withInvites(data, (invites) => invites.create(names.length));
  await pool(agents, startsAtOnce, (agent) => enter(agent, network, credential));
  return {
    folder,
    network,
    agents,
    agent: (name) => {
      const found = agents.find((agent) => agent.name === name);
      if (found === undefined) throw new RangeError(`there is no agent ${name} here`);
      return found;
    },
  };
};
