// The operator's invites, read from and appended to the network's own log, also while the network runs in another process.

import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as RegistrySchema from "@social-harness/registry/RegistrySchema";
import { makeInvites, type Invites } from "@social-harness/registry/Invites";
import * as Custody from "./Custody.ts";
import * as LogCare from "./LogCare.ts";
import * as NetworkFolder from "./NetworkFolder.ts";

export const withInvites = async <A>(
  path: string,
  work: (invites: Invites, network: () => NetworkFolder.Description) => Promise<A>,
): Promise<A> => {
  const { folder, keys } = NetworkFolder.open(path);
  Custody.demandRegistry(folder);
  const log = LogCare.using(folder, "Registry", () =>
    openSqliteLog(folder.registryLog, { keepsFileWhole: true, known: RegistrySchema.known }),
  );
  try {
    const invites = makeInvites({
      log,
      registryKey: keys.registry.publicKey,
      clock: Date.now,
      random: NetworkFolder.random,
    });
    return await work(invites, () => NetworkFolder.description(folder, keys));
  } catch (error) {
    throw LogCare.failureOf(folder, "Registry", error) ?? Custody.explained(error, folder) ?? error;
  } finally {
    await log.close();
  }
};
