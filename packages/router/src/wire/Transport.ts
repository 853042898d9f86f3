// Which transports may carry frames: TLS anywhere, plain text only within one machine. Implements RTR-26.

import { isIPv4 } from "node:net";

/** Whether a host as it stands in a URL or a listen address names this machine and nothing else. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || (isIPv4(host) && host.startsWith("127."));

/** A Router's address that a client may use: `wss:` to anywhere, `ws:` to loopback. */
export const isAllowedUrl = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "wss:" || (protocol === "ws:" && isLoopback(hostname));
};
