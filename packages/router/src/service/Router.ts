// The Router service: one listening socket for WebSocket callers and for the probes of whoever operates it. Everything
// that must survive stands in the log, so a restart on the same log is the same Router to everyone. Content-blind: no
// code here can open a body. Implements RTR-26, RTR-29, RTR-49, RTR-50 and RTR-52
// to RTR-54.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AgentId, RouterInstanceId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { LogError } from "@social-harness/log/LogError";
import { type AboutLog, type LogUse, makeLogTrouble } from "@social-harness/log/LogTrouble";
import { wordOf } from "@social-harness/log/SqliteFault";
import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import * as Standing from "@social-harness/protocol/encoding/Standing";
import * as Crowding from "@social-harness/protocol/sockets/Crowding";
import * as OpenSockets from "@social-harness/protocol/sockets/OpenSockets";
import type { SqliteLog } from "@social-harness/log/SqliteLog";
import { WebSocketServer, type WebSocket } from "ws";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import type { Tracer } from "../Tracer.ts";
import * as Frames from "../wire/Frames.ts";
import * as Transport from "../wire/Transport.ts";
import { makeAcknowledgments } from "./Acknowledgments.ts";
import { makeBudget, type BudgetLimits } from "./Budget.ts";
import {
  closeCode,
  closeIn,
  serveConnection,
  type Connection,
  type ConnectionLimits,
  type LiveConnection,
} from "./Connection.ts";
import { makeServer, type HttpLimits, type Listen } from "./HttpServer.ts";
import { makeMetrics } from "./Metrics.ts";
import { openRouterStore } from "./RouterStore.ts";

export interface ServiceLimits extends ConnectionLimits, BudgetLimits, HttpLimits {
  readonly connectionsMax: number;
  readonly strangersMax: number;
  readonly mailboxBytesMax: number;
  readonly retentionMs: number;
  readonly dedupeMs: number;
  readonly expireIntervalMs: number;
}

export interface RouterOptions {
  /** Stays open after the Router's close; whoever opened it closes it. */
  readonly log: SqliteLog;
  /** Signs lane heads; its public key is what clients pin. */
  readonly signer: Signer;
  /** The Registry whose cards admit callers. */
  readonly registryKey: SigningKey;
  readonly listen: Listen;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
  readonly logger: Logger;
  /** Told of each envelope that was decided, where somebody wants traces. */
  readonly tracer?: Tracer;
  /** Whether a request with this `Authorization` may read `/metrics`; without it there is no such path. */
  readonly mayReadMetrics?: (authorization: string | undefined) => boolean;
  /** What `/metrics` shows of the log's file and of the process, which whoever made them knows. */
  readonly surroundings?: () => ReadonlyArray<PrometheusText.Family>;
  readonly aboutLog?: AboutLog;
  readonly limits?: Partial<ServiceLimits>;
}

export interface Router {
  /** `ws://` or `wss://`, host and port as they were bound. */
  readonly url: string;
  readonly routerKey: SigningKey;
  readonly routerInstanceId: RouterInstanceId;
  /** Ends every connection, finishes what is being committed and writes the last acknowledgments. */
  readonly close: () => Promise<void>;
}

/** A failed commit makes the Router not ready for this long, or until one succeeds. */
const notReadyMs = 10_000;

/** Rejects with `RangeError` for plain text off loopback, and with the system's error when it cannot listen. */
export const startRouter = async (options: RouterOptions): Promise<Router> => {
  const { signer, listen, clock, logger, random } = options;
  if (listen.tls === undefined && !Transport.isLoopback(listen.host)) {
    throw new RangeError("a Router without TLS listens on loopback only");
  }
  const limits: ServiceLimits = { ...Limits, ...options.limits };
  const store = await openRouterStore({ log: options.log, signer, clock, random, ...limits });
  const trouble = makeLogTrouble({
    clock,
    say: logger,
    ...(options.aboutLog === undefined ? {} : { about: options.aboutLog }),
  });
  const acknowledgments = makeAcknowledgments(store, trouble);
  const metrics = makeMetrics();
  const live = new Map<AgentId, LiveConnection>();
  const connections = new Set<Connection>();
  const underWay = new Set<Promise<void>>();
  const crowded = Crowding.make({
    clock,
    schedule: (delayMs, fire) => void setTimeout(fire, delayMs).unref(),
    tell: (ended) => logger("warn", "router crowded", { connections: ended }),
  });
  const open = OpenSockets.make({ restingMax: limits.strangersMax, onCrowded: crowded });
  let lastFault: { readonly at: number; readonly error: LogError } | null = null;
  let closing = false;

  const context = {
    store,
    acknowledgments,
    budget: makeBudget(clock, limits),
    metrics,
    routerKey: signer.publicKey,
    registryKey: options.registryKey,
    random,
    logger,
    clock,
    ...(options.tracer === undefined ? {} : { tracer: options.tracer }),
    limits,
    live,
    onCaller: open.use,
    track: (work: Promise<void>): void => {
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    },
    onLog: (error: LogError | null, use: LogUse = "main"): void => {
      lastFault = error === null ? null : { at: clock(), error };
      if (error === null) trouble.worked(use);
      else trouble.failed(error, use);
    },
  };

  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: Limits.frameBytesMax,
    // A caller of another version is let in just far enough to be told so.
    handleProtocols: (offered) =>
      offered.has(Frames.subprotocol) ? Frames.subprotocol : ([...offered][0] ?? false),
  });

  const refuse = (socket: WebSocket, reason: Frames.RefusedReason): void => {
    metrics.refused(reason);
    socket.on("error", () => {});
    socket.send(Frames.encode({ kind: "refused", reason }));
    closeIn(socket, limits.helloMs, closeCode.refused, reason);
  };

  sockets.on("connection", (socket: WebSocket, request: IncomingMessage) => {
    if (closing) return socket.terminate();
    if (socket.protocol !== Frames.subprotocol) return refuse(socket, "unsupported-version");
    if (sockets.clients.size > limits.connectionsMax) return refuse(socket, "overloaded");
    const connection = serveConnection(socket, request.socket, context);
    connections.add(connection);
    socket.once("close", () => connections.delete(connection));
  });

  const answer = (response: ServerResponse, status: number, type: string, body: string): void => {
    // One question a connection: whoever wants to stay says hello.
    const headers = { "content-type": type, "cache-control": "no-store", connection: "close" };
    response.writeHead(status, headers).end(body);
  };

  const answerJson = (response: ServerResponse, standing: Standing.Standing): void =>
    answer(response, Standing.codeOf(standing), "application/json", JSON.stringify(standing));

  /** Why it is not ready, or null. */
  const unready = async (): Promise<string | null> => {
    if (closing) return "stopping";
    try {
      await store.look();
      trouble.worked("beside");
    } catch (error) {
      trouble.failed(error, "beside");
      return `log-${wordOf(error)}`;
    }
    const isRecent = lastFault !== null && clock() - lastFault.at <= notReadyMs;
    return isRecent ? `log-${wordOf(lastFault?.error)}` : null;
  };

  const measurements = (): string =>
    metrics.text(
      { connections: live.size, logUsable: trouble.standing() === null },
      options.surroundings?.() ?? [],
    );

  const probe = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "GET") return answer(response, 405, "text/plain", "method not allowed\n");
    switch (request.url) {
      case "/healthz":
        return answerJson(response, Standing.ok);
      case "/readyz":
        return answerJson(response, Standing.of(await unready()));
      case "/metrics":
        if (options.mayReadMetrics === undefined) return answer(response, 404, "text/plain", "not found\n");
        if (!options.mayReadMetrics(request.headers.authorization)) {
          response.setHeader("www-authenticate", "Bearer");
          return answer(response, 401, "text/plain", "the token of the network's folder is needed\n");
        }
        return answer(response, 200, PrometheusText.mediaType, measurements());
      default:
        return answer(response, 404, "text/plain", "not found\n");
    }
  };

  const handle = (request: IncomingMessage, response: ServerResponse): void => void probe(request, response);
  const server = makeServer(listen, limits, handle);
  server.maxConnections = limits.connectionsMax + limits.strangersMax;
  server.on("connection", open.opened);
  server.on("drop", crowded);
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (accepted) => sockets.emit("connection", accepted, request));
  });

  /** Old bodies go in small transactions, so that no send waits long behind them. */
  const expire = async (): Promise<void> => {
    try {
      let dropped = 0;
      do dropped = closing ? 0 : await store.expire(Limits.expireBatchMax);
      while (dropped >= Limits.expireBatchMax);
    } catch (error) {
      trouble.failed(error, "beside");
    }
  };

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, listen.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const expiry = setInterval(() => context.track(expire()), limits.expireIntervalMs);
  expiry.unref();
  context.track(expire());
  const { port } = server.address() as AddressInfo;
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  const url = `${listen.tls === undefined ? "ws" : "wss"}://${host}:${port}`;
  logger("info", "router listening", { url, routerInstanceId: store.routerInstanceId });

  return {
    url,
    routerKey: signer.publicKey,
    routerInstanceId: store.routerInstanceId,
    close: async () => {
      if (closing) return;
      closing = true;
      clearInterval(expiry);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.end(closeCode.goingAway, "closing");
      open.endResting();
      const cut = setTimeout(open.endAll, Limits.closeMs);
      await closed;
      clearTimeout(cut);
      await Promise.all(underWay);
      await acknowledgments.close();
    },
  };
};
