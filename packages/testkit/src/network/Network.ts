// A real Registry and a real Router on loopback over sqlite logs in one folder. Each can be stopped, started again on its
// port, and given another log, so that tests can take a service away, bring it back, or bring back an older one.

import { hash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { openSqliteLog, type SqliteLog } from "@social-harness/log/SqliteLog";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import { startRegistry, type RunningRegistry } from "@social-harness/registry/service/RegistryServer";
import { startRouter, type Router, type ServiceLimits } from "@social-harness/router/service/Router";
import * as Copies from "./Copies.ts";

/** What an agent must know to take part, plain enough to hand to another process. */
export interface Reached {
  readonly registryUrl: string;
  readonly registryKey: SigningKey;
  readonly routerUrl: string;
  readonly routerKey: SigningKey;
}

/** One of the two services, which can go away and come back at the same address. */
export interface Service {
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Keeps the log of a stopped service under a name beside it. */
  readonly saveLog: (as: string) => void;
  /** Puts a saved log back in the place of the log of a stopped service; null for a new, empty one. */
  readonly replaceLog: (by: string | null) => void;
}

export interface Network extends Reached {
  readonly folder: string;
  readonly trust: Trust;
  /** The Router's key, for tests that speak as the Router. */
  readonly routerSigner: Signer;
  readonly registry: Service;
  readonly router: Service;
  /** A Router of the same key at another address, over a log of its own, which is new until one is put in its place. */
  readonly anotherRouter: () => Promise<Service & { readonly url: string }>;
  readonly close: () => Promise<void>;
}

export interface NetworkOptions {
  /** Exists; both logs are made in it. */
  readonly folder: string;
  readonly routerLimits?: Partial<ServiceLimits>;
}

export const seedOf = (label: string): Buffer => hash("sha256", `social-harness network: ${label}`, "buffer");

/** `open` runs the service over its log on a port (0 for any) and says how to reach it. */
const makeService = async <Running extends { readonly url: string; readonly close: () => Promise<void> }>(
  path: string,
  open: (log: SqliteLog, port: number) => Promise<Running>,
): Promise<Service & { readonly url: string }> => {
  let running: { readonly service: Running; readonly log: SqliteLog } | null = null;
  const start = async (port: number): Promise<string> => {
    const log = openSqliteLog(path);
    running = { service: await open(log, port), log };
    return running.service.url;
  };
  const stop = async (): Promise<void> => {
    const stopping = running;
    running = null;
    await stopping?.service.close();
    await stopping?.log.close();
  };
  const stopped = (): void => {
    if (running !== null) throw new Error("stop the service before its log is touched");
  };
  const url = await start(0);
  return {
    url,
    stop,
    start: async () => {
      if (running === null) await start(Number(new URL(url).port));
    },
    saveLog: (as) => {
      stopped();
      Copies.copy(path, `${path}.${as}`);
    },
    replaceLog: (by) => {
      stopped();
      if (by === null) Copies.remove(path);
      else Copies.copy(`${path}.${by}`, path);
    },
  };
};

export const startNetwork = async ({ folder, routerLimits }: NetworkOptions): Promise<Network> => {
  const registrySigner = Ed25519.signerFromSeed(seedOf("registry"));
  const routerSigner = Ed25519.signerFromSeed(seedOf("router"));
  const common = {
    clock: Date.now,
    random: (byteCount: number): Buffer => randomBytes(byteCount),
    logger: (): void => undefined,
  };
  const registry = await makeService<RunningRegistry>(join(folder, "registry.sqlite"), (log, port) =>
    startRegistry({
      ...common,
      log,
      keys: { registry: registrySigner },
      admission: "open",
      listen: { host: "127.0.0.1", port },
    }),
  );
  const routers: Array<Service> = [];
  const makeRouter = async (): Promise<Service & { readonly url: string }> => {
    const path = join(folder, routers.length === 0 ? "router.sqlite" : `router-${routers.length}.sqlite`);
    const made = await makeService<Router>(path, (log, port) =>
      startRouter({
        ...common,
        log,
        signer: routerSigner,
        registryKey: registrySigner.publicKey,
        listen: { host: "127.0.0.1", port },
        mayReadMetrics: () => true,
        ...(routerLimits === undefined ? {} : { limits: routerLimits }),
      }),
    );
    routers.push(made);
    return made;
  };
  const router = await makeRouter();
  return {
    folder,
    registryUrl: registry.url,
    registryKey: registrySigner.publicKey,
    routerUrl: router.url,
    routerKey: routerSigner.publicKey,
    trust: { verifier: Ed25519.verifier, registryKey: registrySigner.publicKey },
    routerSigner,
    registry,
    router,
    anotherRouter: makeRouter,
    close: async () => {
      for (const each of routers) await each.stop();
      await registry.stop();
    },
  };
};
