// The Registry as one listening server: the socket, its timeouts, TLS, and an orderly end. Plain HTTP only on loopback
// or behind a proxy that the operator has named by its public URL. Implements IDN-27, RTR-52 and RTR-53.

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import * as Crowding from "@social-harness/protocol/sockets/Crowding";
import * as OpenSockets from "@social-harness/protocol/sockets/OpenSockets";
import * as Limits from "../Limits.ts";
import { isLoopback, isRegistryUrl } from "../NetworkUrl.ts";
import type { RegistryView } from "../RegistryState.ts";
import { refuseBytes } from "./HttpEdge.ts";
import { makeRegistryService, type RegistryServiceOptions } from "./RegistryService.ts";

export interface Listen {
  readonly host: string;
  /** 0 for any. */
  readonly port: number;
  /** PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

/** How long a peer may take. Small enough that slow peers hold sockets only briefly. */
export interface Timeouts {
  /** From the first byte to the end of the headers. */
  readonly headersMs: number;
  /** From the first byte to the end of the body. */
  readonly requestMs: number;
  /** An open connection that carries nothing. */
  readonly idleMs: number;
}

export const defaultTimeouts: Timeouts = { headersMs: 5_000, requestMs: 10_000, idleMs: 30_000 };

/** How long requests that are being answered may keep `close` waiting. */
const closeMs = 2_000;

export interface RegistryOptions extends RegistryServiceOptions {
  readonly listen: Listen;
  /** What clients are told, where a proxy stands in front. */
  readonly publicUrl?: string;
  readonly timeouts?: Partial<Timeouts>;
  /** Fewer connections without a request, for tests. */
  readonly restingMax?: number;
  /** Looks at what is registered before anybody is served; what it throws is why nothing is. */
  readonly inspect?: (view: RegistryView) => void;
}

export interface RunningRegistry {
  /** Without a final slash. */
  readonly url: string;
  /** Stops listening, lets running requests end, closes every socket. The log stays open: it is the caller's. */
  readonly close: () => Promise<void>;
}

const checkExposure = ({ listen, publicUrl }: RegistryOptions): void => {
  if (publicUrl !== undefined && !isRegistryUrl(publicUrl)) {
    throw new RangeError("the public URL of a Registry is https, or http on loopback");
  }
  if (listen.tls === undefined && publicUrl === undefined && !isLoopback(listen.host)) {
    throw new RangeError("a Registry listens beyond loopback only with TLS or behind a public URL");
  }
};

interface Listening {
  readonly server: Server;
  readonly sockets: OpenSockets.OpenSockets;
}

const makeServer = (options: RegistryOptions, handle: RequestListener): Listening => {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const settings = {
    maxHeaderSize: Limits.headerBytesMax,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.idleMs,
    connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    // Nothing here depends on the host, and the answer to its absence would not be one of the closed errors.
    requireHostHeader: false,
  };
  const { tls } = options.listen;
  const crowded = Crowding.make({
    clock: options.clock,
    schedule: (delayMs, fire) => void setTimeout(fire, delayMs).unref(),
    tell: (connections) => options.logger("warn", "registry_crowded", { connections }),
  });
  const sockets = OpenSockets.make({
    restingMax: options.restingMax ?? Limits.connectionsRestingMax,
    onCrowded: crowded,
  });
  const onRequest: RequestListener = (request, response) => {
    const { socket } = request;
    sockets.use(socket);
    response.once("close", () => sockets.rest(socket));
    return handle(request, response);
  };
  const server =
    tls === undefined
      ? createServer(settings, onRequest)
      : createTlsServer({ ...settings, ...tls, handshakeTimeout: timeouts.headersMs }, onRequest);
  server.timeout = timeouts.idleMs;
  server.maxConnections = Limits.connectionsMax;
  const registryKey = options.keys.registry.publicKey;
  server.on("connection", sockets.opened);
  server.on("drop", crowded);
  server.on("clientError", (cause, socket) => refuseBytes(registryKey, cause, socket));
  return { server, sockets };
};

const listening = (server: Server, { host, port }: Listen): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen(port, host, () => {
    server.off("error", reject);
    const address = server.address();
    if (address === null || typeof address === "string") reject(new Error("the server has no port"));
    else resolve(address.port);
  });
  return promise;
};

const close = async ({ server, sockets }: Listening): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  sockets.endResting();
  const timer = setTimeout(sockets.endAll, closeMs);
  await promise;
  clearTimeout(timer);
};

/** Folds the log, then listens. Rejects when the log is not this Registry's or the address cannot be had. */
export const startRegistry = async (options: RegistryOptions): Promise<RunningRegistry> => {
  checkExposure(options);
  const service = makeRegistryService(options);
  await service.ready();
  options.inspect?.(service.view);
  const made = makeServer(options, service.handle);
  const port = await listening(made.server, options.listen);
  const { host, tls } = options.listen;
  const local = `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const url = (options.publicUrl ?? local).replace(/\/$/, "");
  options.logger("info", "registry_listening", { url });
  let closing: Promise<void> | undefined;
  return {
    url,
    close: () => (closing ??= close(made)),
  };
};
