// The verifying client of one Registry: register, look up, list. Believes nothing that does not verify under the pinned
// key, keeps verified cards, asks once for what many want at once. Never retries a refusal and hides no outage.

import type { ProxyEnv } from "node:http";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { AgentId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import type { AdmissionCredential } from "../Admission.ts";
import * as Limits from "../Limits.ts";
import { isRegistryUrl } from "../NetworkUrl.ts";
import type { Registration } from "../Registration.ts";
import * as Wire from "../Wire.ts";
import * as Answers from "./Answers.ts";
import { makeCardCache } from "./CardCache.ts";
import { makeHttpCaller } from "./HttpCall.ts";
import { RegistryError } from "./RegistryError.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** From the call to its result; `callMs` when absent. Past it the call fails as `unavailable`. */
  readonly deadlineMs?: number;
  /** A deadline that has begun before the call, in the place of `deadlineMs`. */
  readonly deadline?: AbortSignal;
}

/** Every method rejects with `RegistryError` and nothing else. */
export interface RegistryClient {
  /** Repeating the same registration gives the same answer for ever; repeat it exactly after a lost answer. */
  readonly register: (
    registration: Registration,
    credential: AdmissionCredential | null,
    options?: CallOptions,
  ) => Promise<Wire.RegisterAnswer>;
  readonly lookupByName: (name: AgentName, options?: CallOptions) => Promise<AgentCard | null>;
  readonly lookupById: (agentId: AgentId, options?: CallOptions) => Promise<AgentCard | null>;
  readonly list: (request: Wire.ListRequest, options?: CallOptions) => Promise<Wire.PageAnswer>;
  /** Ends the sockets. Calls in flight fail as `unavailable`. */
  readonly close: () => void;
}

export interface RegistryClientOptions {
  readonly url: string;
  /** The pinned key. */
  readonly registryKey: SigningKey;
  /** The strict profile when absent. */
  readonly verifier?: Verifier;
  readonly cachedCardsMax?: number;
  /** Names proxies as HTTPS_PROXY and NO_PROXY do; without it there is none. Loopback is never asked through one. */
  readonly proxyEnvironment?: ProxyEnv;
}

const abortedError = (): RegistryError => new RegistryError("aborted", "the call was aborted");

/** The result of `work` under a deadline and the caller's signal. */
const bounded = async <T>(
  { signal, deadlineMs = Limits.callMs, deadline = AbortSignal.timeout(deadlineMs) }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const aborted = (): boolean => signal?.aborted === true;
  if (aborted()) throw abortedError();
  try {
    return await work(signal === undefined ? deadline : AbortSignal.any([signal, deadline]));
  } catch (cause) {
    throw aborted() ? abortedError() : cause;
  }
};

/** `shared`, unless the signal ends first: the shared call goes on for the others who wait for it. */
const orAborted = async <T>(shared: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(new RegistryError("unavailable", "the Registry did not answer in time"));
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([shared, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

export const makeRegistryClient = (options: RegistryClientOptions): RegistryClient => {
  if (!isRegistryUrl(options.url)) {
    throw new RangeError("a Registry's URL is https, or http on loopback");
  }
  const trust: Answers.Trust = {
    verifier: options.verifier ?? Ed25519.verifier,
    registryKey: options.registryKey,
  };
  const caller = makeHttpCaller(options.url, options.registryKey, options.proxyEnvironment);
  const cache = makeCardCache(options.cachedCardsMax ?? Limits.cachedCardsMax);
  const flights = new Map<string, Promise<AgentCard | null>>();

  const keep = (card: AgentCard): void => {
    if (cache.add(card)) return;
    throw new RegistryError("invalid-answer", "the Registry gave the name or the id of a known card away");
  };

  const fetchCard = async (asked: Wire.LookupRequest): Promise<AgentCard | null> => {
    const bytes = await caller.post({
      path: Wire.lookupPath,
      body: CanonicalJson.encodeBytes(asked),
      answerBytesMax: Limits.cardAnswerBytesMax,
      signal: AbortSignal.timeout(Limits.callMs),
    });
    const card = Answers.found(trust, asked, bytes);
    if (card !== null) keep(card);
    return card;
  };

  const lookup = (asked: Wire.LookupRequest, callOptions: CallOptions): Promise<AgentCard | null> =>
    bounded(callOptions, (signal) => {
      const key = CanonicalJson.encode(asked);
      let flight = flights.get(key);
      if (flight === undefined) {
        flight = fetchCard(asked).finally(() => flights.delete(key));
        flights.set(key, flight);
      }
      return orAborted(flight, signal);
    });

  return {
    register: (registration, credential, callOptions = {}) =>
      bounded(callOptions, async (signal) => {
        const bytes = await caller.post({
          path: Wire.registerPath,
          body: CanonicalJson.encodeBytes(registration),
          headers: credential === null ? {} : { authorization: `Bearer ${credential}` },
          answerBytesMax: Limits.cardAnswerBytesMax,
          signal,
        });
        const answer = Answers.registered(trust, registration, bytes);
        if (answer.kind === "registered") keep(answer.agentCard);
        return answer;
      }),
    lookupByName: async (agentName, callOptions = {}) =>
      cache.byName(agentName) ?? lookup({ agentName }, callOptions),
    lookupById: async (agentId, callOptions = {}) => cache.byId(agentId) ?? lookup({ agentId }, callOptions),
    list: (request, callOptions = {}) =>
      bounded(callOptions, async (signal) => {
        const bytes = await caller.post({
          path: Wire.listPath,
          body: CanonicalJson.encodeBytes(request),
          answerBytesMax: Limits.pageAnswerBytesMax,
          signal,
        });
        return Answers.page(trust, request, bytes);
      }),
    close: () => caller.close(),
  };
};
