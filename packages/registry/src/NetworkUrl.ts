// Where a network's services are. Encrypted everywhere but on loopback, where nobody else listens.

import * as Schema from "effect/Schema";
import * as Limits from "./Limits.ts";

/** Whether a host of a URL or of a listening address is this machine itself. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

const isServiceUrl =
  (secure: string, plain: string) =>
  (text: string): boolean => {
    if (text.length > Limits.urlCharactersMax || !URL.canParse(text)) return false;
    const url = new URL(text);
    const encrypted = url.protocol === secure || (url.protocol === plain && isLoopback(url.hostname));
    const bare = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
    // What a parser would change is not the one spelling: capital hosts, default ports, dots in the path.
    return encrypted && bare && (text === url.href || `${text}/` === url.href);
  };

export const isRegistryUrl = isServiceUrl("https:", "http:");
export const isRouterUrl = isServiceUrl("wss:", "ws:");

export const RegistryUrl = Schema.String.check(
  Schema.makeFilter((text: string) => isRegistryUrl(text) || "expected an https URL, or http on loopback"),
);
export const RouterUrl = Schema.String.check(
  Schema.makeFilter((text: string) => isRouterUrl(text) || "expected a wss URL, or ws on loopback"),
);
