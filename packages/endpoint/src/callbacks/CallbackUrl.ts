// The address of a stranger's receiver: one canonical text for each, so that two spellings are one callback. Says nothing
// about where the host leads; that is asked anew for every connection. Implements ING-60 and ING-61.

import type * as Brand from "effect/Brand";
import * as Limits from "./Limits.ts";

/** An https URL without user info and fragment, as the URL parser writes it, without a dot behind the host. */
export type CallbackUrl = string & Brand.Brand<"CallbackUrl">;

export type CallbackUrlReason =
  "too-long" | "malformed" | "not-https" | "user-info" | "fragment" | "refused-port";

export interface CallbackUrlProblem {
  readonly kind: "problem";
  readonly reason: CallbackUrlReason;
  /** A sentence for whoever gave the URL. Never holds any of it. */
  readonly message: string;
}

const messages: Readonly<Record<CallbackUrlReason, string>> = {
  "too-long": `The callback URL is longer than ${Limits.urlCharactersMax} characters; give a shorter one.`,
  malformed: "The callback URL cannot be read; give it as https://host/path.",
  "not-https": "A callback has to be encrypted; give a URL that begins with https://.",
  "user-info":
    "The callback URL holds a user name or password; a delivery's signature says who sent it, so leave it out.",
  fragment: "The callback URL holds a fragment, which no server ever sees; leave out the # and what follows.",
  "refused-port":
    "The callback URL names a port of another protocol; serve HTTPS on 443 or on another free port.",
};

const problem = (reason: CallbackUrlReason): CallbackUrlProblem => ({
  kind: "problem",
  reason,
  message: messages[reason],
});

/**
 * The ports that the Fetch standard keeps browsers from, for the same reason: what listens there may take a request for
 * commands of its own protocol.
 */
const refusedPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** The parser drops or turns these, and programs do not agree about how. */
// eslint-disable-next-line no-control-regex
const disputed = /[\u0000-\u0020\u007f\\]/;
const scheme = /^[a-z][a-z0-9+.-]*:/i;
/** Between the two slashes and the path: `https:host` and `https:///host` are spellings that only browsers take. */
const authority = /^https:\/\/([^/?#]+)/i;

/** The one spelling of a URL, or why it is none that a callback can have. */
export const parse = (text: string): CallbackUrl | CallbackUrlProblem => {
  if (text.length > Limits.urlCharactersMax) return problem("too-long");
  if (disputed.test(text) || !scheme.test(text)) return problem("malformed");
  if (!/^https:/i.test(text)) return problem("not-https");
  const [, place] = authority.exec(text) ?? [];
  if (place === undefined) return problem("malformed");
  // Also the empty ones, which the parser drops in silence.
  if (place.includes("@")) return problem("user-info");
  if (text.includes("#")) return problem("fragment");
  if (!URL.canParse(text)) return problem("malformed");
  const url = new URL(text);
  url.hostname = url.hostname.replace(/\.$/, "");
  if (/^\.|\.\.|\.$/.test(url.hostname)) return problem("malformed");
  if (url.port !== "" && refusedPorts.has(Number(url.port))) return problem("refused-port");
  return url.href.length > Limits.urlCharactersMax ? problem("too-long") : (url.href as CallbackUrl);
};

/** Where a connection goes: the host without the brackets of an IPv6 literal. */
export interface Target {
  readonly hostname: string;
  readonly port: number;
}

export const targetOf = (callbackUrl: CallbackUrl): Target => {
  const { hostname, port } = new URL(callbackUrl);
  return { hostname: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 443 : Number(port) };
};
