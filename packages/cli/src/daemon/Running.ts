// The daemon that holds a state folder, connected to, and told apart from a daemon of another version. Implements RUN-03
// and RUN-176.

import type { Endpoint } from "@social-harness/endpoint/state/EndpointFile";
import { version } from "@social-harness/endpoint/Version";
import * as Output from "../Output.ts";
import * as Hints from "../text/Hints.ts";
import { connect, type ConnectOptions, type DaemonClient } from "./DaemonClient.ts";
import * as Located from "./Located.ts";
import { ownerToken, type Served } from "./OwnerCall.ts";
import { pathOf, type StateOptions } from "./Profile.ts";
import * as Silence from "./Silence.ts";
import * as StoreTrouble from "./StoreTrouble.ts";

export interface Running extends Served {
  readonly client: DaemonClient;
}

/** Most of what is asked goes on well between neighbouring versions; where it does not, this has said why. */
const remarkOtherVersion = (options: StateOptions, running: string): void => {
  if (running === version) return;
  const next = Hints.naming(options, "stop it, then start it again with `social-harness daemon`");
  Output.create(options.json === true).remark(
    `the daemon is version ${running} and this command version ${version}: ${next}`,
  );
};

const reachUsable = async (options: StateOptions): Promise<Endpoint> => {
  try {
    const endpoint = await Located.reach(options);
    remarkOtherVersion(options, endpoint.version);
    return endpoint;
  } catch (error) {
    throw Silence.explained(pathOf(options), error);
  }
};

/** Works on the daemon's owner paths, which need no MCP. */
export const withOwnerPaths = async <A>(
  options: StateOptions,
  work: (served: Served) => Promise<A>,
): Promise<A> => {
  const { mcpUrl, mode } = await reachUsable(options);
  const served = { path: pathOf(options), mcpUrl, mode };
  return StoreTrouble.explaining(served, () => work(served));
};

const connectTo = async ({ path, mcpUrl }: Served, options: ConnectOptions): Promise<DaemonClient> => {
  try {
    return await connect(mcpUrl, options);
  } catch (error) {
    throw Silence.explained(path, error);
  }
};

/** With the owner's token where the mode asks for one; a trusted-local daemon is used without, as any program would. */
export const connectAsOwner = (served: Served): Promise<DaemonClient> =>
  connectTo(served, served.mode === "credentials" ? { token: () => ownerToken(served) } : {});

const withClient = async <A>(
  options: StateOptions,
  connected: (served: Served) => Promise<DaemonClient>,
  work: (running: Running) => Promise<A>,
): Promise<A> => {
  const { mcpUrl, mode } = await reachUsable(options);
  const served = { path: pathOf(options), mcpUrl, mode };
  const client = await connected(served);
  try {
    return await StoreTrouble.explaining(served, () => work({ client, ...served }));
  } finally {
    await client.close();
  }
};

export const withDaemon = <A>(options: StateOptions, work: (running: Running) => Promise<A>): Promise<A> =>
  withClient(options, connectAsOwner, work);

/** With the owner's token in either mode. */
const connectWithToken = (served: Served): Promise<DaemonClient> =>
  connectTo(served, { token: () => ownerToken(served) });

/** With the owner's token in either mode, for tools that a trusted-local daemon does not show to any program. */
export const withOwnedDaemon = <A>(
  options: StateOptions,
  work: (running: Running) => Promise<A>,
): Promise<A> => withClient(options, connectWithToken, work);
