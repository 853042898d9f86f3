// The opening of a socket to a Router, and what answers there in its place: the HTTP status of a proxy that does not hand the
// path on, a service that speaks no WebSocket, or silence. Whoever is connected to looks like a Router only with its subprotocol.

import type { ProxyEnv } from "node:http";
import { Agent } from "node:https";
import * as Dialled from "@social-harness/protocol/sockets/Dialled";
import { WebSocket } from "ws";
import * as Limits from "../Limits.ts";
import * as Frames from "../wire/Frames.ts";
import * as Transport from "../wire/Transport.ts";

/** An answer that no Router gives. */
export class HandshakeError extends Error {
  override readonly name = "HandshakeError";
  readonly code = "NO_ROUTER";
  /** Of HTTP; null where the answer is no proper one, or promises a WebSocket of another kind. */
  readonly status: number | null;
  constructor(status: number | null, options?: ErrorOptions) {
    super(status === null ? "the answer is no Router's" : `the answer is HTTP ${status}`, options);
    this.status = status;
  }
}

/** Nothing came in time, as a system would say it of a socket. */
export const silence = (): Error => Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" });

export interface Address {
  /** `wss://...`, or `ws://` to loopback. */
  readonly url: string;
  /** Certificate authorities in PEM, in place of the system's. */
  readonly certificateAuthority?: string;
  /** Names proxies as HTTPS_PROXY and NO_PROXY do; without it there is none. Loopback is never asked through one. */
  readonly proxyEnvironment?: ProxyEnv;
}

interface Way {
  readonly agent?: Agent;
  /** Ends the attempt wherever it is: also at a proxy that has taken the connection and says nothing. */
  readonly cut: Dialled.EndAll;
}

/** What leads the socket through a proxy, where there may be one. Plain ws is for loopback, so it has none. */
const wayTo = ({ url, proxyEnvironment }: Address): Way => {
  const { protocol, hostname } = new URL(url);
  if (proxyEnvironment === undefined || protocol !== "wss:" || Transport.isLoopback(hostname)) {
    return { cut: () => {} };
  }
  const agent = new Agent({ proxyEnv: proxyEnvironment });
  return { agent, cut: Dialled.watch(agent) };
};

export interface Opening {
  readonly socket: WebSocket;
  readonly cut: Way["cut"];
}

const isCoded = (error: Error): boolean => "code" in error && typeof error.code === "string";

/** Errors of the system and of TLS have codes; what `ws` says itself is about an answer that it did not like, or about none. */
const explained = (error: Error): Error => {
  if (isCoded(error) && !String((error as NodeJS.ErrnoException).code).startsWith("HPE_")) return error;
  return error.message.includes("timed out") ? silence() : new HandshakeError(null, { cause: error });
};

/**
 * Opens the socket. `failed` gets, at most once and before the socket closes, why it was not opened: what the system or TLS
 * threw, or a `HandshakeError`.
 */
export const open = (address: Address, handshakeMs: number, failed: (error: Error) => void): Opening => {
  const { cut, ...way } = wayTo(address);
  const socket = new WebSocket(address.url, Frames.subprotocol, {
    perMessageDeflate: false,
    maxPayload: Limits.frameBytesMax,
    handshakeTimeout: handshakeMs,
    followRedirects: false,
    ...way,
    ...(address.certificateAuthority === undefined ? {} : { ca: address.certificateAuthority }),
  });
  let isOver = false;
  const fail = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    failed(error);
  };
  socket.once("open", () => {
    isOver = true;
  });
  socket.on("unexpected-response", (_request, response) => {
    fail(new HandshakeError(response.statusCode ?? null));
    socket.terminate();
  });
  socket.on("error", (error) => fail(explained(error)));
  return { socket, cut };
};
