// The daemon that holds a state folder, as its endpoint.json names it: found, connected to, and told apart from a file
// that a killed daemon left behind and from a daemon of another version. Implements RUN-03 and RUN-176.

import { existsSync } from "node:fs";
import process from "node:process";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { version } from "@social-harness/endpoint/Version";
import { unreachable } from "../Failure.ts";
import * as Output from "../Output.ts";
import * as Hints from "../text/Hints.ts";
import { connect, type ConnectOptions, type DaemonClient } from "./DaemonClient.ts";
import { ownerToken, type Served } from "./OwnerCall.ts";
import { joinFirst, pathOf, type StateOptions } from "./Profile.ts";
import * as Silence from "./Silence.ts";
import * as StoreTrouble from "./StoreTrouble.ts";

export interface Running extends Served {
  readonly client: DaemonClient;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process exists all the same.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

const start = "Start it with `social-harness daemon`.";

/** Where the daemon of the folder says it can be reached. Throws a `Failure` with exit code 3 when there is none. */
export const find = (options: StateOptions): EndpointFile.Endpoint => {
  const folder = StateFolder.at(pathOf(options));
  const endpoint = EndpointFile.read(folder);
  if (endpoint === null && !existsSync(folder.identity)) {
    throw unreachable(
      "daemon-not-running",
      `no daemon runs on ${folder.path}, and it has no keys yet`,
      joinFirst,
    );
  }
  if (endpoint === null) throw unreachable("daemon-not-running", `no daemon runs on ${folder.path}`, start);
  if (!isAlive(endpoint.pid)) {
    throw unreachable(
      "daemon-not-running",
      `the daemon of ${folder.path} ended without a goodbye (pid ${endpoint.pid} is gone)`,
      start,
    );
  }
  return endpoint;
};

/** Most of what is asked goes on well between neighbouring versions; where it does not, this has said why. */
const remarkOtherVersion = (options: StateOptions, running: string): void => {
  if (running === version) return;
  const next = Hints.naming(options, "stop it, then start it again with `social-harness daemon`");
  Output.create(options.json === true).remark(
    `the daemon is version ${running} and this command version ${version}: ${next}`,
  );
};

const findUsable = (options: StateOptions): EndpointFile.Endpoint => {
  const endpoint = find(options);
  remarkOtherVersion(options, endpoint.version);
  return endpoint;
};

/** Works on the daemon's owner paths, which need no MCP. */
export const withOwnerPaths = async <A>(
  options: StateOptions,
  work: (served: Served) => Promise<A>,
): Promise<A> => {
  const { mcpUrl, mode } = findUsable(options);
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
  const { mcpUrl, mode } = findUsable(options);
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
