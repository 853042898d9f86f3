// The Registry's answers: routes, the order of checks, and the three operations over the folded state. Owns no socket:
// `handle` takes requests from whatever server the composition root has made.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "@social-harness/log/Log";
import { LogError, type LogErrorReason } from "@social-harness/log/LogError";
import { type AboutLog, type LogTrouble, type LogUse, makeLogTrouble } from "@social-harness/log/LogTrouble";
import { wordOf } from "@social-harness/log/SqliteFault";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import * as Standing from "@social-harness/protocol/encoding/Standing";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Admission from "../Admission.ts";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import type { NetworkKeys } from "../NetworkKeys.ts";
import * as Registration from "../Registration.ts";
import * as Entry from "../Entry.ts";
import { makeRegistryFold } from "../RegistryFold.ts";
import type { RegistryView } from "../RegistryState.ts";
import { timestampOf, type Clock } from "../Timestamp.ts";
import type { Tracer } from "../Tracer.ts";
import * as Wire from "../Wire.ts";
import { checkMediaType, Gone, readBody, Refusal, respond, respondError } from "./HttpEdge.ts";
import { makeMetrics } from "./Metrics.ts";
import { defaultRates, makeRateLimits, sourceOf, type Rates } from "./RateLimits.ts";
import { decide, type AdmissionMode } from "./Registering.ts";

export interface RegistryServiceOptions {
  readonly log: Log;
  readonly keys: Pick<NetworkKeys, "registry">;
  readonly admission: AdmissionMode;
  /** Milliseconds since 1970. */
  readonly clock: Clock;
  readonly random: Admission.Random;
  readonly logger: Logger;
  readonly rates?: Partial<Rates>;
  /** Takes the source from the last `X-Forwarded-For`: only behind a proxy that sets it, and reachable through it alone. */
  readonly behindProxy?: boolean;
  /** Told of each request of a known operation, where somebody wants traces. */
  readonly tracer?: Tracer;
  /** Whether a request with this `Authorization` may read `/metrics`; without it there is no such path. */
  readonly mayReadMetrics?: (authorization: string | undefined) => boolean;
  /** What `/metrics` shows of the log's file and of the process, which whoever made them knows. */
  readonly surroundings?: () => ReadonlyArray<PrometheusText.Family>;
  readonly aboutLog?: AboutLog;
}

export interface RegistryService {
  /** Folds the log; rejects when it cannot be read, is not a Registry's, or belongs to another key. */
  readonly ready: () => Promise<void>;
  /** What is folded, complete once `ready` has resolved. */
  readonly view: RegistryView;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
}

const bounds = { bytesMax: Limits.requestBytesMax, depthMax: Limits.requestDepthMax };
const decodeRegistration = Closed.bytesDecoder(Registration.schema, bounds);
const decodeLookup = Closed.bytesDecoder(Wire.LookupRequest, bounds);
const decodeList = Closed.bytesDecoder(Wire.ListRequest, bounds);

interface Answer {
  readonly status: 200 | 503;
  readonly value: Json;
}

type Operation = (body: Uint8Array, request: IncomingMessage) => Promise<Json>;

const overloaded = (seconds: number): Refusal => new Refusal("overloaded", { "retry-after": `${seconds}` });

const troubles: ReadonlySet<LogErrorReason> = new Set(["unavailable", "gone", "damaged", "closed"]);

/** The refusal that a failed operation comes to; what is not foreseen is `internal` and is logged. */
const refusalOf = (cause: unknown, use: LogUse, logger: Logger, trouble: LogTrouble): Refusal => {
  if (cause instanceof Refusal) return cause;
  if (cause instanceof DecodeError) return new Refusal("malformed");
  if (cause instanceof LogError && troubles.has(cause.reason)) {
    trouble.failed(cause, use);
    return new Refusal("unavailable");
  }
  logger("error", "registry_failed", { message: cause instanceof Error ? cause.message : "unknown" });
  return new Refusal("internal");
};

export const makeRegistryService = (options: RegistryServiceOptions): RegistryService => {
  const { keys, admission, clock, logger } = options;
  const { registry } = keys;
  const { fold, view } = makeRegistryFold(options.log, registry.publicKey);
  const metrics = makeMetrics();
  const trouble = makeLogTrouble({
    clock,
    say: logger,
    ...(options.aboutLog === undefined ? {} : { about: options.aboutLog }),
  });
  const limits = makeRateLimits({ ...defaultRates, ...options.rates }, options.random);

  const sourceOfRequest = (request: IncomingMessage): string => {
    const forwarded = request.headers["x-forwarded-for"];
    const last = typeof forwarded === "string" ? forwarded.split(",").at(-1)?.trim() : undefined;
    return sourceOf((options.behindProxy === true ? last : undefined) ?? request.socket.remoteAddress ?? "");
  };

  const register: Operation = async (body, request) => {
    const registration = decodeRegistration(body);
    const credential = Admission.fromHeader(request.headers.authorization);
    const wait = credential === null ? null : await limits.credential(credential);
    if (wait !== null) throw overloaded(wait);
    if (!Registration.verify(Ed25519.verifier, registry.publicKey, registration)) {
      throw new Refusal("authentication_failed");
    }
    const answer = await fold.decide(() =>
      decide(view, { registry, admission, issuedAt: timestampOf(clock()) }, registration, credential),
    );
    metrics.registration(answer.kind);
    trouble.worked();
    const { agentName } = registration;
    logger("info", "registration", { result: answer.kind, agentName, position: fold.position() });
    return answer;
  };

  const read = async (): Promise<void> => {
    await fold.catchUp();
    trouble.worked("beside");
  };

  const lookup: Operation = async (body) => {
    const request = decodeLookup(body);
    await read();
    const agentCard =
      "agentId" in request ? view.cardOfId(request.agentId) : view.cardOfName(request.agentName);
    return agentCard === undefined ? { kind: "not_found" } : { kind: "found", agentCard };
  };

  const list: Operation = async (body) => {
    const { afterAgentName = "", prefix = "" } = decodeList(body);
    await read();
    return view.page(afterAgentName, prefix);
  };

  const operations = new Map([
    [Wire.registerPath, { run: register, limit: limits.registration }],
    [Wire.lookupPath, { run: lookup, limit: limits.read }],
    [Wire.listPath, { run: list, limit: limits.read }],
  ]);

  const operate = async (request: IncomingMessage, path: string): Promise<Json> => {
    const operation = operations.get(path);
    if (operation === undefined) throw new Refusal("not_found");
    if (request.method !== "POST") throw new Refusal("method_not_allowed", { allow: "POST" });
    if (request.headers[Wire.versionHeader] !== Wire.version) throw new Refusal("version_mismatch");
    const wait = await operation.limit(sourceOfRequest(request));
    if (wait !== null) throw overloaded(wait);
    checkMediaType(request);
    return operation.run(await readBody(request, Limits.requestBytesMax), request);
  };

  const unreadable = async (): Promise<string | null> => {
    try {
      await options.log.tail(Entry.stream);
      await read();
      return null;
    } catch (cause) {
      refusalOf(cause, "beside", logger, trouble);
      return `log-${wordOf(cause)}`;
    }
  };

  const probe = async (request: IncomingMessage, path: string): Promise<Answer> => {
    if (request.method !== "GET") throw new Refusal("method_not_allowed", { allow: "GET" });
    const standing = Standing.of(path === "/readyz" ? await unreadable() : null);
    return { status: Standing.codeOf(standing), value: { ...standing } };
  };

  /** Text, where every other answer is JSON. */
  const measure = (request: IncomingMessage, response: ServerResponse): void => {
    const { mayReadMetrics } = options;
    if (mayReadMetrics === undefined) throw new Refusal("not_found");
    if (request.method !== "GET") throw new Refusal("method_not_allowed", { allow: "GET" });
    if (!mayReadMetrics(request.headers.authorization)) {
      throw new Refusal("authentication_failed", { "www-authenticate": "Bearer" });
    }
    response.writeHead(200, { "content-type": PrometheusText.mediaType, "cache-control": "no-store" });
    const standing = { agents: view.agents(), logUsable: trouble.standing() === null };
    response.end(metrics.text(standing, options.surroundings?.() ?? []));
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const path = request.url ?? "";
    if (path === "/healthz" || path === "/readyz") return probe(request, path);
    return { status: 200, value: await operate(request, path) };
  };

  /** Takes the time of an operation from now on; null where nobody wants to know. */
  const traceOf = (path: string): ((failed: Wire.ErrorCode | "gone" | null) => void) | null => {
    const { tracer } = options;
    if (tracer === undefined || !operations.has(path)) return null;
    const startedAt = clock();
    return (failed) => tracer({ name: path, startedAt, endedAt: clock(), failed, attributes: {} });
  };

  return {
    ready: () => fold.catchUp(),
    view,
    handle: (request, response) => {
      response.setHeader(Wire.registryKeyHeader, registry.publicKey);
      const over = traceOf(request.url ?? "");
      const refuse = (cause: unknown): void => {
        if (cause instanceof Gone) {
          over?.("gone");
          return void response.destroy();
        }
        const use = request.url === Wire.registerPath ? "main" : "beside";
        const refusal = refusalOf(cause, use, logger, trouble);
        metrics.refused(refusal.code);
        over?.(refusal.code);
        respondError(response, refusal);
      };
      if (request.url === "/metrics") {
        try {
          return measure(request, response);
        } catch (cause) {
          return refuse(cause);
        }
      }
      answer(request).then(({ status, value }) => {
        metrics.answered();
        over?.(null);
        respond(response, status, value);
      }, refuse);
    },
  };
};
