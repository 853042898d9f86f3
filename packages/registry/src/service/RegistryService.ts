// The Registry's answers: routes, the order of checks, and the three operations over the folded state. Owns no socket:
// `handle` takes requests from whatever server the composition root has made.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "@social-harness/log/Log";
import { LogError } from "@social-harness/log/LogError";
import { type LogTrouble, makeLogTrouble } from "@social-harness/log/LogTrouble";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Admission from "../Admission.ts";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import type { NetworkKeys } from "../NetworkKeys.ts";
import * as Registration from "../Registration.ts";
import { makeRegistryFold } from "../RegistryFold.ts";
import type { RegistryView } from "../RegistryState.ts";
import { timestampOf, type Clock } from "../Timestamp.ts";
import * as Wire from "../Wire.ts";
import { checkMediaType, Gone, readBody, Refusal, respond, respondError } from "./HttpEdge.ts";
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

type Operation = (body: Uint8Array, request: IncomingMessage) => Promise<Json>;

const overloaded = (seconds: number): Refusal => new Refusal("overloaded", { "retry-after": `${seconds}` });

/** The refusal that a failed operation comes to; what is not foreseen is `internal` and is logged. */
const refusalOf = (cause: unknown, logger: Logger, trouble: LogTrouble): Refusal => {
  if (cause instanceof Refusal) return cause;
  if (cause instanceof DecodeError) return new Refusal("malformed");
  if (cause instanceof LogError && (cause.reason === "unavailable" || cause.reason === "closed")) {
    trouble.failed(cause);
    return new Refusal("unavailable");
  }
  logger("error", "registry_failed", { message: cause instanceof Error ? cause.message : "unknown" });
  return new Refusal("internal");
};

export const makeRegistryService = (options: RegistryServiceOptions): RegistryService => {
  const { keys, admission, clock, logger } = options;
  const { registry } = keys;
  const { fold, view } = makeRegistryFold(options.log, registry.publicKey);
  const trouble = makeLogTrouble({ clock, say: logger });
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
    trouble.worked();
    const { agentName } = registration;
    logger("info", "registration", { result: answer.kind, agentName, position: fold.position() });
    return answer;
  };

  const lookup: Operation = async (body) => {
    const request = decodeLookup(body);
    await fold.catchUp();
    const agentCard =
      "agentId" in request ? view.cardOfId(request.agentId) : view.cardOfName(request.agentName);
    return agentCard === undefined ? { kind: "not_found" } : { kind: "found", agentCard };
  };

  const list: Operation = async (body) => {
    const { afterAgentName = "", prefix = "" } = decodeList(body);
    await fold.catchUp();
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

  const probe = async (request: IncomingMessage, path: string): Promise<Json> => {
    if (request.method !== "GET") throw new Refusal("method_not_allowed", { allow: "GET" });
    if (path === "/readyz") {
      await fold.catchUp().catch((cause: unknown) => {
        refusalOf(cause, logger, trouble);
        throw new Refusal("unavailable");
      });
    }
    return { status: "ok" };
  };

  const answer = (request: IncomingMessage): Promise<Json> => {
    const path = request.url ?? "";
    return path === "/healthz" || path === "/readyz" ? probe(request, path) : operate(request, path);
  };

  return {
    ready: () => fold.catchUp(),
    view,
    handle: (request, response) => {
      response.setHeader(Wire.registryKeyHeader, registry.publicKey);
      answer(request).then(
        (value) => respond(response, 200, value),
        (cause: unknown) => {
          if (cause instanceof Gone) response.destroy();
          else respondError(response, refusalOf(cause, logger, trouble));
        },
      );
    },
  };
};
