// One agent under test: the daemon in its state folder, over all its lives, the client that talks to it, and the journal
// of its host.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import type { NetworkDescription } from "@social-harness/registry/Invite";
import type { Supply } from "../storage/PowerCut.ts";
import * as Client from "./Client.ts";
import type * as Process from "./Process.ts";
import * as Resident from "./Resident.ts";
import { binary } from "./Services.ts";

export interface Endpoint {
  readonly name: string;
  readonly state: string;
  readonly database: string;
  readonly runtimeToken: string;
  /** Where its host keeps what it has read and acknowledged. */
  readonly journalFile: string;
  readonly resident: Resident.Resident;
  readonly client: Client.EndpointClient;
}

export interface EndpointOptions {
  readonly name: string;
  readonly folder: string;
  readonly network: NetworkDescription;
  /** Puts more into the state folder before its daemon is started, in credentials mode then; returns its further arguments. */
  readonly prepare: ((state: StateFolder.StateFolder) => ReadonlyArray<string>) | null;
  /** Variables of its daemon. */
  readonly environment?: Process.Environment;
  /** The disk of its state folder, where a kill is a power cut. */
  readonly plug?: ((name: string, folder: string) => Supply) | null;
  readonly onUnexpectedEnd: (how: string) => void;
}

/** Makes the state folder of a new agent. Nothing runs on it yet. */
export const found = (options: EndpointOptions): Endpoint => {
  const { name, folder, network, prepare, onUnexpectedEnd } = options;
  const state = StateFolder.open(path.join(folder, "agents", name));
  Identity.create(state, (byteCount) => randomBytes(byteCount));
  Configuration.save(state, Configuration.resolve({ file: JSON.stringify(network) }));
  const further = prepare?.(state) ?? [];
  const daemon = Resident.create({
    name,
    file: binary,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
    supply: options.plug?.(name, state.path) ?? null,
    args: ["daemon", "--state", state.path, "--port", "0", "--json", ...further],
    log: path.join(folder, `${name}.stderr`),
    onUnexpectedEnd,
  });
  const client = Client.create(
    daemon,
    prepare === null ? undefined : () => readFileSync(state.ownerToken, "utf8"),
  );
  return {
    name,
    state: state.path,
    database: state.database,
    runtimeToken: state.runtimeToken,
    journalFile: path.join(folder, `${name}.journal`),
    client,
    resident: {
      ...daemon,
      kill: async (warnedMs) => {
        await daemon.kill(warnedMs);
        await client.drop();
      },
      stop: async (msMax) => {
        const stopped = await daemon.stop(msMax);
        await client.drop();
        return stopped;
      },
    },
  };
};

/** The ids under which a registration may be repeated. */
export const freshIds = () => ({
  operationId: OperationId.fromBytes(randomBytes(16)),
  principalId: PrincipalId.fromBytes(randomBytes(16)),
});

/** Repeating it is safe: an endpoint whose answer was lost says by its status that it is this agent. */
export const register = async (
  { name, client }: Endpoint,
  ids: ReturnType<typeof freshIds>,
): Promise<void> => {
  const before = await client.call("status", {});
  if (before.kind === "active" && before.agentCard.agentName === name) return;
  const { kind } = await client.call("register", { ...ids, agentName: name });
  if (kind !== "registered") throw new Error(`${name} could not register: ${kind}`);
};

/** Makes the state folder of a new agent, starts its daemon for the first time and registers it. */
export const settle = async (options: EndpointOptions): Promise<Endpoint> => {
  const endpoint = found(options);
  await Resident.startFirst(endpoint.resident);
  await register(endpoint, freshIds());
  return endpoint;
};
