// A network in one process: Registry and Router over their two logs. The composition root of both services.

import { openSqliteLog } from "@social-harness/log/SqliteLog";
import type { NetworkKeys } from "@social-harness/registry/NetworkKeys";
import type { AdmissionMode } from "@social-harness/registry/service/Registering";
import { startRegistry } from "@social-harness/registry/service/RegistryServer";
import { startRouter } from "@social-harness/router/service/Router";
import type { Logger } from "@social-harness/registry/Logger";
import { failed } from "../Failure.ts";
import { routerUrlOf, type Exposure } from "./Exposure.ts";
import { acquire, random, type NetworkFolder, type Reached } from "./NetworkFolder.ts";

export interface Network extends Reached {
  readonly close: () => Promise<void>;
}

const cannotListen = (host: string, port: number, cause: unknown): unknown => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : null;
  if (code === null) return cause;
  if (code.startsWith("ERR_OSSL")) {
    return failed(
      "tls-unusable",
      `the certificate and the private key cannot be used (${code})`,
      "Give a certificate chain as --tls-cert and the private key that belongs to it as --tls-key, both PEM.",
      cause,
    );
  }
  return failed(
    "cannot-listen",
    `${host}:${port} cannot be listened on (${code})`,
    "Stop what uses the port, or give another one with --listen; the Router takes the port after it.",
    cause,
  );
};

export const start = async (
  folder: NetworkFolder,
  keys: NetworkKeys,
  exposure: Exposure,
  admission: AdmissionMode,
  logger: Logger,
): Promise<Network> => {
  const { host, registryPort, routerPort, tls, behindProxy, publicUrl } = exposure;
  const ends: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  const listen = (port: number) => ({ host, port, ...(tls === undefined ? {} : { tls }) });
  try {
    const lock = acquire(folder);
    ends.push(async () => lock.release());
    const registryLog = openSqliteLog(folder.registryLog);
    ends.push(() => registryLog.close());
    const routerLog = openSqliteLog(folder.routerLog);
    ends.push(() => routerLog.close());
    const shared = { clock: Date.now, random, logger };
    const registry = await startRegistry({
      ...shared,
      log: registryLog,
      keys,
      admission,
      listen: listen(registryPort),
      behindProxy,
      ...(publicUrl === undefined ? {} : { publicUrl }),
    }).catch((cause: unknown) => {
      throw cannotListen(host, registryPort, cause);
    });
    ends.push(() => registry.close());
    const router = await startRouter({
      ...shared,
      log: routerLog,
      signer: keys.router,
      registryKey: keys.registry.publicKey,
      listen: listen(routerPort),
    }).catch((cause: unknown) => {
      throw cannotListen(host, routerPort, cause);
    });
    ends.push(() => router.close());
    return { registryUrl: registry.url, routerUrl: routerUrlOf(exposure, router.url), close };
  } catch (error) {
    await close();
    throw error;
  }
};
