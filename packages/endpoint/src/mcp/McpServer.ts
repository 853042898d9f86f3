// The one loopback MCP endpoint of a daemon: node:http in front, the SDK's stateless handler behind it.
// Projects `Operations` and owns no state of an agent. Implements MGT-01, MGT-06, MGT-10, MGT-11, MGT-14,
// MGT-25, MGT-75 and MGT-186.

import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Logger } from "@social-harness/router/Logger";
import type { Tracer } from "@social-harness/router/Tracer";
import type { EventConsumers } from "../operations/EventSubscription.ts";
import { type Health, isReady } from "../operations/Health.ts";
import type { Owner } from "../operations/Owner.ts";
import type { Operations } from "../operations/Operations.ts";
import { causeOf } from "../state/Log.ts";
import { isStoreFailure } from "../store/Database.ts";
import * as Call from "./Call.ts";
import type { Caller } from "./Caller.ts";
import * as Connections from "./Connections.ts";
import * as Defect from "./Defect.ts";
import * as Envelope from "./Envelope.ts";
import * as Exchange from "./Exchange.ts";
import * as Failures from "./Failures.ts";
import * as Gate from "./Gate.ts";
import * as LargeAnswers from "./LargeAnswers.ts";
import * as Limits from "./Limits.ts";
import { codes, type McpError } from "./McpError.ts";
import * as OwnerPaths from "./OwnerPaths.ts";
import * as PendingStream from "./PendingStream.ts";
import * as ProtocolServer from "./ProtocolServer.ts";
import * as Refusals from "./Refusals.ts";
import * as RequestBody from "./RequestBody.ts";
import * as Turns from "./Turns.ts";

export interface McpServerOptions {
  readonly operations: Operations;
  /** Served to the owner alone; throws when the store cannot be read. */
  readonly health: () => Health;
  /** The same. */
  readonly owner: Owner;
  /** Who subscribes to events, and which consumer has the endpoint. */
  readonly consumers: EventConsumers;
  /** Loopback only; port 0 takes any free one. */
  readonly listen: { readonly host: "127.0.0.1"; readonly port: number };
  /** Who may speak, and by which tokens. */
  readonly authority: Gate.Authority;
  readonly logger: Logger;
  readonly tracer?: Tracer;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
  /** Of this program, as clients see it. */
  readonly version: string;
  readonly heartbeatMs?: number;
  /** A shorter deadline for a request to arrive whole, for tests. */
  readonly requestMsMax?: number;
  /** How a stop waits so many milliseconds, for tests. */
  readonly pause?: (ms: number) => Promise<unknown>;
}

const pauseDefault = (ms: number): Promise<unknown> => setTimeout(ms, undefined, { ref: false });

export interface McpServer {
  /** `http://127.0.0.1:<port>/mcp` */
  readonly url: string;
  /** Takes no new request, ends every stream with its final result, and closes within two seconds. */
  readonly close: () => Promise<void>;
}

/** Longer than clients keep an idle connection, so that it is they who close it: a POST that meets our close is lost. */
const keepAliveMs = 75_000;

const crowded = {
  code: codes.refused,
  message: `All ${Limits.connectionsMax} connections of this kind of caller are in use. Try again in a second, or close some.`,
};

/** What the request's head expects before its body comes: HTTP/1.1 knows one thing, to be told to go on. */
type Expectation = "nothing" | "to go on" | "something else";

const unmet = {
  code: codes.refused,
  message: "Of what Expect may ask for only 100-continue is known here. Send the request without it.",
};

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
    if (!isStoreFailure(error)) logger("error", "the standing cannot be read", causeOf(error));
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
  server.listen({ host, port, backlog: Limits.connectionsQueuedMax }, () => {
    server.off("error", reject);
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : port);
  });
  return promise;
};

/** What a stream says while the unread items cannot be counted. */
const uncounted = (error: unknown, options: McpServerOptions): McpError => {
  const event = "the unread items cannot be counted";
  const expected = Failures.errorOf("read_inbox", error);
  if (expected === null) return Defect.report(event, error, options);
  options.logger("error", event, causeOf(error));
  return expected;
};

/** The part that speaks MCP: the SDK's handler, the event stream, and the calls that are under way. */
const makeProtocol = (
  options: McpServerOptions,
  countRefusal: (status: number) => void,
  origin: () => string,
) => {
  const { operations, pause = pauseDefault } = options;
  const calls = new Set<Promise<unknown>>();
  const call = (params: unknown, asker: Call.Asker): Promise<Call.CallResult> => {
    const result = Call.call(params, asker, options);
    calls.add(result);
    void result.catch(() => {}).finally(() => calls.delete(result));
    return result;
  };
  const heartbeatMs = options.heartbeatMs ?? PendingStream.heartbeatMsDefault;
  const stream = PendingStream.make({
    pendingCount: operations.pendingCount,
    failure: (error) => uncounted(error, options),
    onPending: operations.onPending,
    heartbeatMs,
    clock: options.clock,
    random: options.random,
  });
  const protocol: ProtocolServer.ProtocolServerOptions = {
    version: options.version,
    operations,
    stream,
    consumers: options.consumers,
    outletOf: (request) => exchanges.outletOf(request),
    call,
    witness: options,
  };
  /** What the SDK says of a request, which may quote it: kept for the log of a defect, and for nothing else. */
  const fates = new AsyncLocalStorage<{ readonly error?: Error }>();
  const handlers = new Map<Caller["kind"], ReturnType<typeof createMcpHandler>>();
  /** One for each kind of caller, made when the first comes, so that none of them uses up another's listeners. */
  const handlerFor = (caller: Caller) => {
    const known = handlers.get(caller.kind);
    if (known !== undefined) return known;
    const handler = createMcpHandler(ProtocolServer.factory(protocol, caller), {
      legacy: "reject",
      maxSubscriptions: Limits.catalogListenersMax,
      // What a listener hears while nothing happens: a comment, since the protocol has no heartbeat for it.
      keepAliveMs: heartbeatMs,
      onerror: (error) => void Object.assign(fates.getStore() ?? {}, { error }),
    });
    handlers.set(caller.kind, handler);
    return handler;
  };
  const large = LargeAnswers.makeAll();
  const answer = (request: Request, body: unknown, caller: Caller): Promise<Response> => {
    const fate: { readonly error?: Error } = {};
    return fates.run(fate, async () => {
      const response = await handlerFor(caller).fetch(request, { parsedBody: body });
      if (response.status >= 400) countRefusal(response.status);
      const defect = () => Defect.report("a request broke off", fate.error, options);
      return Envelope.explain(body, response, defect);
    });
  };
  const exchanges = Exchange.make(async (request, body, caller) => {
    const queue = large.of(body);
    const outlet = exchanges.outletOf(request);
    if (queue === undefined || outlet === undefined) return answer(request, body, caller);
    const asker = { kind: caller.kind, gone: request.signal, over: outlet.over };
    return (await queue.answer(asker, () => answer(request, body, caller))) ?? Envelope.stopped(body);
  }, origin);
  const forgetConsumer = options.consumers.onConsumed(stream.displace);
  const forgetCatalog = operations.onCatalogChanged(() => {
    for (const handler of handlers.values()) handler.notify.toolsChanged();
  });
  return {
    serve: exchanges.serve,
    close: async (): Promise<void> => {
      forgetConsumer();
      forgetCatalog();
      large.close();
      const ended = Promise.all([stream.close(), Promise.allSettled(calls)]);
      await Promise.race([ended, pause(Limits.stopGraceMs)]);
      // What has just returned reaches its response by microtasks; the handler cuts whatever it still serves then.
      await setImmediate();
      await Promise.all([...handlers.values()].map((handler) => handler.close()));
    },
  };
};

/** Rejects with the error of `listen`, `EADDRINUSE` for one. */
export const startMcpServer = async (options: McpServerOptions): Promise<McpServer> => {
  const { logger, pause = pauseDefault } = options;
  let port = options.listen.port;
  let closing = false;
  const countRefusal = Refusals.counter(logger, options.clock);
  const protocol = makeProtocol(options, countRefusal, () => `http://127.0.0.1:${port}`);

  const connections = Connections.make();
  const turns = Turns.make();

  const answer = async (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    expects: Expectation,
  ): Promise<void> => {
    const verdict = Gate.check(incoming, port, options.authority);
    if (verdict.kind === "refused") {
      const { status, message, headers } = verdict;
      countRefusal(status);
      return refuse(outgoing, status, { code: codes.refused, message }, headers);
    }
    if (closing) return refuse(outgoing, 503, Envelope.stopping);
    if (!connections.admit(incoming.socket, outgoing, verdict.caller.kind)) {
      countRefusal(503);
      return refuse(outgoing, 503, crowded, { "retry-after": "1" });
    }
    if (expects === "something else") return refuse(outgoing, 417, unmet);
    if (expects === "to go on") outgoing.writeContinue();
    if (incoming.url === Gate.readyPath) return answerHealth(outgoing, options);
    if (incoming.url !== Gate.path) return OwnerPaths.answer(incoming, outgoing, options);
    const body = await RequestBody.read(incoming);
    if (!body.ok) return refuse(outgoing, body.status, { code: body.code, message: body.message });
    return protocol.serve(incoming, outgoing, body.value, verdict.caller);
  };

  const requestMsMax = options.requestMsMax ?? Limits.requestMsMax;
  const deadlines = {
    headersTimeout: requestMsMax,
    requestTimeout: requestMsMax,
    connectionsCheckingInterval: requestMsMax / 10,
    keepAliveTimeout: keepAliveMs,
  };
  const listener =
    (expects: Expectation) =>
    (incoming: IncomingMessage, outgoing: ServerResponse): void =>
      turns.take(incoming, {
        outgoing,
        answer: () =>
          answer(incoming, outgoing, expects).catch((error: unknown) => {
            logger("info", "an exchange broke off", causeOf(error));
            outgoing.destroy();
          }),
      });
  const server = createServer(deadlines, listener("nothing"));
  // Whoever expects something before it sends a body hears of it only once the gate has let it through.
  server.on("checkContinue", listener("to go on"));
  server.on("checkExpectation", listener("something else"));
  server.on("connection", connections.opened);
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
      await Promise.race([closed, pause(Limits.stopGraceMs)]);
      connections.endAll();
      await closed;
    },
  };
};
