// The one loopback MCP endpoint of a daemon: node:http in front, the SDK's stateless handler behind it.
// Projects `Operations` and owns no state of an agent. Implements MGT-01, MGT-06, MGT-10, MGT-14 and
// MGT-25.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Logger } from "@social-harness/router/Logger";
import { type Health, isReady } from "../operations/Health.ts";
import type { Owner } from "../operations/Owner.ts";
import type { Operations } from "../operations/Operations.ts";
import { causeOf } from "../state/Log.ts";
import * as Call from "./Call.ts";
import * as Connections from "./Connections.ts";
import * as Defect from "./Defect.ts";
import * as Envelope from "./Envelope.ts";
import * as Exchange from "./Exchange.ts";
import * as Gate from "./Gate.ts";
import * as Limits from "./Limits.ts";
import { codes } from "./McpError.ts";
import * as OwnerPaths from "./OwnerPaths.ts";
import * as PendingStream from "./PendingStream.ts";
import * as ProtocolServer from "./ProtocolServer.ts";
import * as RequestBody from "./RequestBody.ts";

export interface McpServerOptions {
  readonly operations: Operations;
  /** Served to the owner alone; throws when the store cannot be read. */
  readonly health: () => Health;
  /** The same. */
  readonly owner: Owner;
  /** Loopback only; port 0 takes any free one. */
  readonly listen: { readonly host: "127.0.0.1"; readonly port: number };
  /** The owner's token as it is now; may throw when it cannot be read, and then no token is good. */
  readonly ownerToken: () => string;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
  /** Of this program, as clients see it. */
  readonly version: string;
  readonly heartbeatMs?: number;
  /** A shorter deadline for a request to arrive whole, for tests. */
  readonly requestMsMax?: number;
}

export interface McpServer {
  /** `http://127.0.0.1:<port>/mcp` */
  readonly url: string;
  /** Takes no new request, ends every stream with its final result, and closes within two seconds. */
  readonly close: () => Promise<void>;
}

/** What open calls get to end by themselves in a clean stop, and then their last frames to leave. */
const graceMs = 1_000;
/** Longer than clients keep an idle connection, so that it is they who close it: a POST that meets our close is lost. */
const keepAliveMs = 75_000;

const refuse = (
  outgoing: ServerResponse,
  status: number,
  error: { readonly code: number; readonly message: string },
  headers: Readonly<Record<string, string>> = {},
): void => {
  outgoing.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  outgoing.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
};

/** 200 for an endpoint that does everything that it is for, so that a supervisor need not read the body. */
const answerHealth = (outgoing: ServerResponse, { health, logger }: McpServerOptions): void => {
  let standing: Health;
  try {
    standing = health();
  } catch (error) {
    logger("error", "the standing cannot be read", causeOf(error));
    const message = "The endpoint's store cannot be read. Its log says why.";
    return refuse(outgoing, 503, { code: codes.internalError, message });
  }
  outgoing.writeHead(isReady(standing) ? 200 : 503, {
    "content-type": "application/json",
    "cache-control": "no-store",
  });
  outgoing.end(JSON.stringify(standing));
};

const listening = (server: Server, { host, port }: McpServerOptions["listen"]): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen({ host, port }, () => {
    server.off("error", reject);
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : port);
  });
  return promise;
};

/** The part that speaks MCP: the SDK's handler, the event stream, and the calls that are under way. */
const makeProtocol = (options: McpServerOptions, origin: () => string) => {
  const { operations, logger } = options;
  const calls = new Set<Promise<unknown>>();
  const call = (params: unknown): Promise<Call.CallResult> => {
    const result = Call.call(params, options);
    calls.add(result);
    void result.catch(() => {}).finally(() => calls.delete(result));
    return result;
  };
  const heartbeatMs = options.heartbeatMs ?? PendingStream.heartbeatMsDefault;
  const stream = PendingStream.make({
    pendingCount: operations.pendingCount,
    onPending: operations.onPending,
    heartbeatMs,
    clock: options.clock,
    random: options.random,
  });
  const protocolServer = ProtocolServer.factory({
    version: options.version,
    operations,
    stream,
    outletOf: (request) => exchanges.outletOf(request),
    call,
    witness: options,
  });
  const handler = createMcpHandler(protocolServer, {
    legacy: "reject",
    maxSubscriptions: Limits.catalogListenersMax,
    // What a listener hears while nothing happens: a comment, since the protocol has no heartbeat for it.
    keepAliveMs: heartbeatMs,
    onerror: ({ message }) => logger("info", "an MCP request was rejected", { message }),
  });
  const exchanges = Exchange.make(async (request, body) => {
    const response = await handler.fetch(request, { parsedBody: body });
    // The line before, from `onerror`, has the cause.
    const defect = () => Defect.report("a request broke off", undefined, options);
    return Envelope.explain(body, response, defect);
  }, origin);
  const forgetCatalog = operations.onCatalogChanged(() => handler.notify.toolsChanged());
  return {
    serve: exchanges.serve,
    close: async (): Promise<void> => {
      forgetCatalog();
      const ended = Promise.all([stream.close(), Promise.allSettled(calls)]);
      await Promise.race([ended, setTimeout(graceMs, undefined, { ref: false })]);
      // What has just returned reaches its response by microtasks; the handler cuts whatever it still serves then.
      await setImmediate();
      await handler.close();
    },
  };
};

/** Rejects with the error of `listen`, `EADDRINUSE` for one. */
export const startMcpServer = async (options: McpServerOptions): Promise<McpServer> => {
  const { logger } = options;
  let port = options.listen.port;
  let closing = false;
  const protocol = makeProtocol(options, () => `http://127.0.0.1:${port}`);

  const ownerToken = (): string | null => {
    try {
      return options.ownerToken();
    } catch (error) {
      logger("warn", "the owner token cannot be read", causeOf(error));
      return null;
    }
  };

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const refusal = Gate.check(incoming, port, ownerToken);
    if (refusal !== null) {
      logger("info", "a request was refused", { status: refusal.status });
      return refuse(
        outgoing,
        refusal.status,
        { code: codes.refused, message: refusal.message },
        refusal.headers,
      );
    }
    if (closing) return refuse(outgoing, 503, Envelope.stopping);
    // A token that got this far is a good one.
    if (connections.isSurplus(incoming.socket) && incoming.headers.authorization === undefined) {
      const { status, error, headers } = Connections.crowded;
      return refuse(outgoing, status, error, headers);
    }
    if (incoming.url === Gate.readyPath) return answerHealth(outgoing, options);
    if (incoming.url !== Gate.path) return OwnerPaths.answer(incoming, outgoing, options);
    const body = await RequestBody.read(incoming);
    if (!body.ok) return refuse(outgoing, body.status, { code: body.code, message: body.message });
    return protocol.serve(incoming, outgoing, body.value);
  };

  const requestMsMax = options.requestMsMax ?? Limits.requestMsMax;
  const deadlines = {
    headersTimeout: requestMsMax,
    requestTimeout: requestMsMax,
    connectionsCheckingInterval: requestMsMax / 10,
    keepAliveTimeout: keepAliveMs,
  };
  const server = createServer(deadlines, (incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      logger("info", "an exchange broke off", causeOf(error));
      outgoing.destroy();
    });
  });
  const connections = Connections.watch(server);
  try {
    port = await listening(server, options.listen);
  } catch (error) {
    await protocol.close();
    throw error;
  }

  return {
    url: `http://127.0.0.1:${port}${Gate.path}`,
    close: async () => {
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await protocol.close();
      server.closeIdleConnections();
      await Promise.race([closed, setTimeout(graceMs, undefined, { ref: false })]);
      server.closeAllConnections();
      await closed;
    },
  };
};
