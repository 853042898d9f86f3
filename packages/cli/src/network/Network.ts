// A network in one process: Registry and Router over their two logs. The composition root of both services.

import process from "node:process";
import * as ProcessMeasures from "@social-harness/endpoint/operations/ProcessMeasures";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as RegistrySchema from "@social-harness/registry/RegistrySchema";
import type { NetworkKeys } from "@social-harness/registry/NetworkKeys";
import type { AdmissionMode } from "@social-harness/registry/service/Registering";
import { startRegistry } from "@social-harness/registry/service/RegistryServer";
import * as RouterSchema from "@social-harness/router/service/RouterSchema";
import { startRouter } from "@social-harness/router/service/Router";
import type { Logger } from "@social-harness/registry/Logger";
import { failed } from "../Failure.ts";
import { version } from "../Version.ts";
import * as Traces from "../traces/Traces.ts";
import * as Custody from "./Custody.ts";
import { routerUrlOf, type Exposure } from "./Exposure.ts";
import * as LogCare from "./LogCare.ts";
import * as MetricsToken from "./MetricsToken.ts";
import type { NetworkFiles } from "./NetworkFiles.ts";
import { acquire, random, type Reached } from "./NetworkFolder.ts";

export interface Network extends Reached {
  /** Agents that use the network and that its Registry does not know: its log is older than it was. */
  readonly forgotten: number;
  readonly close: () => Promise<void>;
}

const cannotListen = (host: string, port: number, cause: unknown): unknown => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : null;
  if (code === null || code === "EMFILE" || code === "ENFILE") return cause;
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

export interface NetworkOptions {
  readonly exposure: Exposure;
  readonly admission: AdmissionMode;
  /** Serves also where the Registry's log is lost. */
  readonly mayBeLost: boolean;
  readonly logger: Logger;
}

export const start = async (
  folder: NetworkFiles,
  keys: NetworkKeys,
  { exposure, admission, mayBeLost, logger }: NetworkOptions,
): Promise<Network> => {
  const { host, registryPort, routerPort, tls, behindProxy, publicUrl } = exposure;
  const startedAt = Date.now();
  const ends: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  const listen = (port: number) => ({ host, port, ...(tls === undefined ? {} : { tls }) });
  try {
    const lock = acquire(folder);
    ends.push(async () => lock.release());
    const beside = [folder.lock];
    const registryLog = LogCare.using(folder, "Registry", () =>
      openSqliteLog(folder.registryLog, { keepsFileWhole: true, known: RegistrySchema.known, beside }),
    );
    ends.push(() => registryLog.close());
    const routerLog = LogCare.using(folder, "Router", () =>
      openSqliteLog(folder.routerLog, { known: RouterSchema.known, beside }),
    );
    ends.push(() => routerLog.close());
    let forgotten = 0;
    MetricsToken.ensure(folder, random);
    const traces = await Traces.open(process.env, "social-harness-network", (line) => logger("warn", line));
    ends.push(async () => traces?.close());
    const shared = {
      clock: Date.now,
      random,
      logger,
      mayReadMetrics: MetricsToken.reader(folder),
      ...(traces === null ? {} : { tracer: traces.tracer }),
    };
    const surroundings = (name: string, what: string, path: string) => () => [
      ...ProcessMeasures.ofFile(name, what, path),
      ...ProcessMeasures.ofProcess(startedAt, version),
    ];
    const registry = await startRegistry({
      ...shared,
      aboutLog: LogCare.about(folder, "Registry"),
      surroundings: surroundings("registry_log", "Registry's log", folder.registryLog),
      log: registryLog,
      keys,
      admission,
      listen: listen(registryPort),
      behindProxy,
      inspect: (registered) => {
        forgotten = LogCare.using(folder, "Router", () =>
          Custody.forgottenAgents(folder, registered, routerLog, mayBeLost),
        );
      },
      ...(publicUrl === undefined ? {} : { publicUrl }),
    }).catch((cause: unknown) => {
      throw (
        LogCare.failureOf(folder, "Registry", cause) ??
        Custody.explained(cause, folder) ??
        cannotListen(host, registryPort, cause)
      );
    });
    ends.push(() => registry.close());
    const router = await startRouter({
      ...shared,
      aboutLog: LogCare.about(folder, "Router"),
      surroundings: surroundings("router_log", "Router's log", folder.routerLog),
      log: routerLog,
      signer: keys.router,
      registryKey: keys.registry.publicKey,
      listen: listen(routerPort),
    }).catch((cause: unknown) => {
      throw LogCare.failureOf(folder, "Router", cause) ?? cannotListen(host, routerPort, cause);
    });
    ends.push(() => router.close());
    return { registryUrl: registry.url, routerUrl: routerUrlOf(exposure, router.url), forgotten, close };
  } catch (error) {
    await close();
    throw error;
  }
};
