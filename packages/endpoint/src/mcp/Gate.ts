// Who may speak at the loopback endpoint, decided from a request's head before a byte of its body is read: this
// endpoint's own Host and Origin, a known path with its one method, and no wrong token; for whatever is not MCP, the owner's
// token. Implements MGT-01, MGT-02, MGT-07, MGT-14 and MGT-16 to MGT-18.

import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export const path = "/mcp";
/** Says how the endpoint stands, to its owner alone. */
export const readyPath = "/readyz";
/** Shows what the Router was caught at, to the owner alone. */
export const evidencePath = "/evidence";
/** Wishes a conversation into a new round, for the owner alone. */
export const roundsPath = "/rounds";
/** Has an own post come to nothing, for the owner alone. */
export const withdrawalsPath = "/withdrawals";

const methods: ReadonlyMap<string, "GET" | "POST"> = new Map([
  [path, "POST"],
  [readyPath, "GET"],
  [evidencePath, "GET"],
  [roundsPath, "POST"],
  [withdrawalsPath, "POST"],
]);

export interface Refusal {
  readonly status: 401 | 403 | 404 | 405;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

const refusal = (status: Refusal["status"], message: string, headers: Refusal["headers"] = {}): Refusal => ({
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
const isToken = (authorization: string, ownerToken: () => string | null): boolean => {
  const offered = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  const expected = ownerToken();
  return offered !== undefined && expected !== null && timingSafeEqual(digestOf(offered), digestOf(expected));
};

/**
 * Null lets the request through. The owner's token is good, and opens the owner's paths beside the rest; any other credential
 * is wrong, while none at all is this mode's ordinary caller. `ownerToken` is asked only when there is one to compare; null when
 * it cannot be read, and then none matches.
 */
export const check = (
  request: IncomingMessage,
  port: number,
  ownerToken: () => string | null,
): Refusal | null => {
  const target = request.url ?? "";
  if (!target.startsWith("/") || !isOwnHost(request, port) || !isOwnOrigin(request, port)) {
    return refusal(403, "Host and Origin must be this loopback endpoint's own.");
  }
  const method = methods.get(target);
  if (method === undefined) return refusal(404, `The endpoint is at ${path}.`);
  const authorization = only(request, "authorization");
  if (authorization === undefined || (authorization !== null && !isToken(authorization, ownerToken))) {
    return refusal(401, "The token is not this endpoint's.", { "www-authenticate": "Bearer" });
  }
  if (target !== path && authorization === null) {
    return refusal(401, "The owner's token is needed.", { "www-authenticate": "Bearer" });
  }
  if (request.method !== method) return refusal(405, `Only ${method} is served.`, { allow: method });
  return null;
};
