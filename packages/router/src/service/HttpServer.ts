// The Router's port as HTTP sees it: where it listens, with or without TLS, and how long a peer may take until it has asked
// for something. What comes after an upgrade is not HTTP's. Implements RTR-53.

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";

export interface Listen {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** PEM. Without it only a loopback host is served. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface HttpLimits {
  readonly headMs: number;
  readonly requestMs: number;
  readonly headBytesMax: number;
}

/** Node looks for late peers this often: a part of what they have, so that none takes much more. */
const checkingMsMax = 1_000;

export const makeServer = (
  { tls }: Listen,
  { headMs, requestMs, headBytesMax }: HttpLimits,
  handle: RequestListener,
): Server => {
  const settings = {
    maxHeaderSize: headBytesMax,
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(checkingMsMax, headMs),
  };
  return tls === undefined
    ? createServer(settings, handle)
    : createTlsServer({ ...settings, ...tls, handshakeTimeout: headMs }, handle);
};
