// Whether the files of a network's folder belong together and are all there. What is lost or another network's is told
// before anything is made or served: a fresh key is another network to every member, and an empty Registry gives names
// away a second time. Implements RUN-102 to RUN-104.

import { existsSync, statSync } from "node:fs";
import type { SqliteLog } from "@social-harness/log/SqliteLog";
import { RegistryLogError } from "@social-harness/registry/RegistryLogError";
import type { RegistryView } from "@social-harness/registry/RegistryState";
import { sendersIn } from "@social-harness/router/service/Senders";
import { failed, type Failure } from "../Failure.ts";
import type { NetworkFiles } from "./NetworkFiles.ts";

/** A first start makes an empty registry.sqlite, then network.json, then everything else: so these show a key that was lost. */
export const demandKeys = ({ path, keys, registryLog, routerLog, reached }: NetworkFiles): void => {
  if (existsSync(keys)) return;
  const used =
    [routerLog, reached].some(existsSync) || (existsSync(registryLog) && statSync(registryLog).size > 0);
  if (!used) return;
  throw failed(
    "network-keys-lost",
    `network.json is missing in ${path}, and the other files there belong to a network`,
    "Restore network.json from your backup: its keys cannot be made again. A new network takes another folder as --data.",
  );
};

const registryLost = (what: string): Failure =>
  failed(
    "registry-lost",
    `${what}: in an empty Registry every name of this network can be taken again, by anybody`,
    "Restore registry.sqlite, with registry.sqlite-wal where your backup has that. Where there is none, --registry-lost goes on without.",
  );

/** The Registry's log was made before the keys that are here, so it can be absent only where it was lost. */
export const demandRegistry = ({ path, registryLog }: NetworkFiles): void => {
  if (!existsSync(registryLog)) throw registryLost(`registry.sqlite is missing in ${path}`);
};

/** The failure of a Registry's log that is not to be served, or null where the error is another one. */
export const explained = (error: unknown, { path }: NetworkFiles): Failure | null => {
  if (!(error instanceof RegistryLogError)) return null;
  switch (error.reason) {
    case "other-registry":
      return failed(
        "other-network",
        `network.json and registry.sqlite in ${path} belong to different networks`,
        "Nothing was changed. Put the two files of one network together, from your backup.",
        error,
      );
    case "contradiction":
      return failed(
        "registry-damaged",
        `registry.sqlite in ${path} cannot be what one Registry has written: ${error.message}`,
        "Nothing was changed. Restore it from your backup.",
        error,
      );
  }
};

/** How many agents have sent over the Router that the Registry does not know: its log is older than it was, or empty. */
export const forgottenAgents = (
  { path }: NetworkFiles,
  registered: RegistryView,
  routerLog: SqliteLog,
  mayBeLost: boolean,
): number => {
  const senders = sendersIn(routerLog.database);
  const forgotten = senders.filter((agentId) => registered.cardOfId(agentId) === undefined).length;
  if (forgotten > 0 && registered.agents() === 0 && !mayBeLost) {
    throw registryLost(`registry.sqlite in ${path} knows no agent, and the Router knows ${forgotten}`);
  }
  return forgotten;
};
