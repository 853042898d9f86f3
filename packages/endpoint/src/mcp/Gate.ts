// Who may speak at the loopback endpoint, decided from a request's head before a byte of its body is read: this
// endpoint's own Host and Origin, a credential of the mode, a known path with its one method, and for whatever is not MCP
// the owner, or for what is only seen whoever has the token for that. Only the question whether this is the daemon that wrote
// endpoint.json is anybody's. Implements MGT-01, MGT-02, MGT-07, MGT-14, MGT-16 to MGT-18, MGT-70, RUN-142, RUN-297 and RUN-301.

import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Mode } from "../state/Configuration.ts";
import * as StartSecret from "../state/StartSecret.ts";
import type { Tokens } from "../state/Tokens.ts";
import type { Caller, Monitor } from "./Caller.ts";

export const path = "/mcp";
/** Says that the process answers, to the owner and to whoever measures the endpoint. */
export const healthPath = "/healthz";
/** Says how the endpoint stands, to its owner; to whoever measures it whether it is ready. */
export const readyPath = "/readyz";
/** Shows what the endpoint counted, to the same two. */
export const metricsPath = "/metrics";
/** Shows what the Router was caught at, to the owner alone. */
export const evidencePath = "/evidence";
/** Wishes a conversation into a new round, for the owner alone. */
export const roundsPath = "/rounds";
/** Has an own post come to nothing, for the owner alone. */
export const withdrawalsPath = "/withdrawals";

/** Has a question go the whole way and come back, for the owner alone. */
export const probesPath = "/probes";

/** Lists what came of the last calls of the webhook, for the owner alone. */
export const webhookAttemptsPath = "/webhook/attempts";
/** Has the webhook answer a challenge now, for the owner alone. */
export const webhookTestPath = "/webhook/test";

/** Has the daemon prove which start it is, to anybody: with what they ask with behind it. See `StartSecret`. */
export const challengePath = "/challenge/";

const methods: ReadonlyMap<string, "GET" | "POST"> = new Map([
  [path, "POST"],
  [healthPath, "GET"],
  [readyPath, "GET"],
  [metricsPath, "GET"],
  [evidencePath, "GET"],
  [roundsPath, "POST"],
  [withdrawalsPath, "POST"],
  [probesPath, "POST"],
  [webhookAttemptsPath, "GET"],
  [webhookTestPath, "POST"],
]);

const monitored: ReadonlySet<string> = new Set([healthPath, readyPath, metricsPath]);

/** Whether the path shows how the endpoint does and does nothing. */
export const isMonitored = (target: string | undefined): boolean =>
  target !== undefined && monitored.has(target);

export type Verdict =
  | { readonly kind: "admitted"; readonly caller: Caller }
  /** Whoever it is shows no token before that is answered. */
  | { readonly kind: "challenged"; readonly challenge: string }
  | Monitor
  | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly status: 401 | 403 | 404 | 405;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

const refusal = (status: Refusal["status"], message: string, headers: Refusal["headers"] = {}): Refusal => ({
  kind: "refused",
  status,
  message,
  headers,
});

/** The one value of a header; null when it is absent, undefined when it came more than once. */
const only = (request: IncomingMessage, name: string): string | null | undefined => {
  const values = request.headersDistinct[name];
  if (values === undefined) return null;
  return values.length === 1 ? values[0] : undefined;
};

const isOwnHost = (request: IncomingMessage, port: number): boolean => {
  const host = only(request, "host")?.toLowerCase();
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`;
};

/**
 * Programs send no Origin; a browser always sends one with a POST. Another local server's pages are foreign too.
 * Sec-Fetch-Site is what a browser says where an Origin could be hidden from it.
 */
const isOwnOrigin = (request: IncomingMessage, port: number): boolean => {
  const origin = only(request, "origin");
  const site = only(request, "sec-fetch-site");
  const sameOrigin =
    origin === null || origin === `http://127.0.0.1:${port}` || origin === `http://localhost:${port}`;
  return sameOrigin && (site === null || site === "same-origin" || site === "none");
};

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

/** Digests are compared: the time that it takes tells nothing, not even a length. */
const equals = (offered: string, expected: string | null): boolean =>
  expected !== null && timingSafeEqual(digestOf(offered), digestOf(expected));

export interface Authority {
  readonly mode: Mode;
  /** As they are now. Asked only when there is one to compare; null matches nothing. */
  readonly tokens: () => Tokens;
}

const bearer = /^Bearer +(\S+)$/i;

/** `authorization` as `only` found it. Null for nobody: a wrong credential, or none where one is needed. */
const callerOf = (
  authorization: string | null | undefined,
  { mode, tokens }: Authority,
): Caller | Monitor | null => {
  if (authorization === null) return mode === "trusted-local" ? { kind: "local", mode } : null;
  const offered = bearer.exec(authorization ?? "")?.[1];
  if (offered === undefined) return null;
  const { owner, runtime, metrics } = tokens();
  const [isOwner, isRuntime, isMonitor] = [owner, runtime, metrics].map((token) => equals(offered, token));
  if (isOwner) return { kind: "owner", mode };
  if (isMonitor) return { kind: "monitor" };
  return isRuntime && mode === "credentials" ? { kind: "runtime", mode } : null;
};

/** What is wrong, as far as the header's form tells it: of the token itself nothing. */
const whyNobody = (authorization: string | null | undefined, mode: Mode): string => {
  if (authorization === null)
    return "A token is needed: Authorization: Bearer <token>, the one in the file runtime-token of the state folder.";
  if (authorization === undefined || !bearer.test(authorization))
    return "The Authorization header must stand once, and be: Bearer <token>.";
  const none = "The token is not this endpoint's";
  return mode === "trusted-local"
    ? `${none}, or not of its mode: in trusted-local mode a host sends no token at all, and only the owner's is known.`
    : `${none}: it must be what stands in the state folder's runtime-token or owner-token now. If it is, the endpoint's log says what is wrong with that file.`;
};

/** What somebody asks with who wants a proof; null for every other request. */
const challengeOf = ({ method, url = "" }: IncomingMessage): string | null => {
  if (method !== "GET" || !url.startsWith(challengePath)) return null;
  const challenge = url.slice(challengePath.length);
  return StartSecret.pattern.test(challenge) ? challenge : null;
};

const onlyBy = (target: string, method: string): string =>
  target === path
    ? `Only ${method} is served: this is an MCP endpoint for hosts, over Streamable HTTP without sessions, and no page to look at.`
    : `Only ${method} is served.`;

const unauthorized = (message: string): Refusal => refusal(401, message, { "www-authenticate": "Bearer" });

/** Who calls, or why nobody is let through. A token is judged before the path: a wrong one tells no path from another. */
export const check = (request: IncomingMessage, port: number, authority: Authority): Verdict => {
  const target = request.url ?? "";
  if (!target.startsWith("/") || !isOwnHost(request, port) || !isOwnOrigin(request, port)) {
    return refusal(403, "Host and Origin must be this loopback endpoint's own.");
  }
  const challenge = challengeOf(request);
  if (challenge !== null) return { kind: "challenged", challenge };
  const authorization = only(request, "authorization");
  const caller = callerOf(authorization, authority);
  if (caller === null) {
    return unauthorized(whyNobody(authorization, authority.mode));
  }
  if (caller.kind === "monitor" && !isMonitored(target))
    return unauthorized("This token shows /healthz, /readyz and /metrics alone.");
  const method = methods.get(target);
  if (method === undefined) return refusal(404, `The endpoint is at ${path}.`);
  if (caller.kind !== "monitor" && target !== path && caller.kind !== "owner")
    return unauthorized(
      isMonitored(target)
        ? "The token in metrics-token is needed, or the owner's."
        : "The owner's token is needed.",
    );
  if (request.method !== method) return refusal(405, onlyBy(target, method), { allow: method });
  return caller.kind === "monitor" ? caller : { kind: "admitted", caller };
};
