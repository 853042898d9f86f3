// A receiver for tests: a real HTTPS server on loopback with whatever certificate is asked for, which remembers what it
// saw, and the network around it as one test wants it to look.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import {
  connect as tcpConnect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from "node:net";
import { createSecureContext, type TLSSocket } from "node:tls";
import { expect, onTestFinished } from "vitest";
import {
  makeCallbackClient,
  type CallbackAnswer,
  type CallbackClient,
  type CallbackClientOptions,
} from "../../src/callbacks/CallbackClient.ts";
import * as CallbackUrl from "../../src/callbacks/CallbackUrl.ts";
import type { Connect } from "../../src/callbacks/Dial.ts";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";
import type { Resolver } from "../../src/callbacks/Resolver.ts";
import { makeAuthority, type Issued } from "./Certificates.ts";

// Loaded before a test has a deadline that is shorter than the loading.
await import("../../src/callbacks/EffectPost.ts");

export const authority = makeAuthority("callback test authority");
export const loopback = "127.0.0.1";

export interface Seen {
  readonly serverName: string | null;
  readonly host: string | undefined;
  readonly request: IncomingMessage;
}

export interface Receiver {
  readonly port: number;
  readonly requests: ReadonlyArray<Seen>;
  /** TCP connections so far, and those that are still open. */
  readonly connections: () => number;
  readonly open: () => number;
  /** Bytes that came in before any decryption. */
  readonly bytesRead: () => number;
  readonly bytesWritten: () => number;
  readonly close: () => Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const counting = (server: Server) => {
  const sockets = new Set<Socket>();
  const all: Array<Socket> = [];
  server.on("connection", (socket: Socket) => {
    all.push(socket);
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  const total = (count: (socket: Socket) => number): number =>
    all.reduce((sum, socket) => sum + count(socket), 0);
  return {
    connections: () => all.length,
    open: () => sockets.size,
    bytesRead: () => total((socket) => socket.bytesRead),
    bytesWritten: () => total((socket) => socket.bytesWritten),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};

const listening = async (server: Server, host: string): Promise<number> => {
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

/** With SNI it has a certificate for exactly the name asked for; without one, the given certificate. */
export const startReceiver = async (
  handler: Handler,
  options: { readonly host?: string; readonly issued?: Issued; readonly named?: boolean } = {},
): Promise<Receiver> => {
  const requests: Array<Seen> = [];
  const server = createHttpsServer(
    {
      ...(options.issued ?? authority.issue(["receiver.example", loopback])),
      ...(options.named === true
        ? {
            SNICallback: (name, answer) => answer(null, createSecureContext(authority.issue([name]))),
          }
        : {}),
    },
    (request, response) => {
      const { servername } = request.socket as TLSSocket;
      const serverName = typeof servername === "string" && servername !== "" ? servername : null;
      requests.push({ serverName, host: request.headers.host, request });
      handler(request, response);
    },
  );
  server.on("tlsClientError", () => undefined);
  const counted = counting(server);
  return { requests, port: await listening(server, options.host ?? loopback), ...counted };
};

/** Plain TCP, for what no HTTPS server would do. */
export const startTcp = async (handler: (socket: Socket) => void): Promise<Receiver> => {
  const server = createTcpServer((socket) => {
    // Read, or it would not notice that the other end has gone.
    socket.resume();
    handler(socket);
  });
  return { requests: [], port: await listening(server, loopback), ...counting(server) };
};

export const lookup =
  (...addresses: ReadonlyArray<string>): Resolver =>
  () =>
    Promise.resolve(addresses);

/**
 * A network in which every address is the receiver: the socket goes to loopback and says that it is at the first of the
 * addresses it was asked for. Remembers what it was asked for.
 */
export const network = (port: number) => {
  const asked: Array<ReadonlyArray<string>> = [];
  const connect: Connect = ({ addresses }) => {
    asked.push(addresses);
    const socket = tcpConnect({ host: loopback, port });
    Object.defineProperty(socket, "remoteAddress", { value: addresses[0] });
    return socket;
  };
  return { asked, connect };
};

/** A client that trusts the test authority and may go to 127.0.0.1, where every name leads. */
export const localClient = (options: Partial<CallbackClientOptions> = {}): CallbackClient =>
  makeCallbackClient({
    clock: () => 0,
    test: {
      addresses: [IpAddress.parse(loopback) ?? new Uint8Array()],
      certificateAuthority: authority.certificate,
    },
    resolver: lookup(loopback),
    ...options,
  });

export const urlOf = (text: string): CallbackUrl.CallbackUrl => {
  const url = CallbackUrl.parse(text);
  if (typeof url !== "string") throw new Error(`no callback URL: ${url.reason}`);
  return url;
};

export const requestTo = (text: string, body = "{}") => ({
  url: urlOf(text),
  headers: { "content-type": "application/json" },
  body: Buffer.from(body),
});

export const never = new AbortController().signal;

/** Until it is so, looked at often: a peer's view of a socket follows ours by a moment, and by more on a busy machine. */
export const eventually = async (isSo: () => boolean): Promise<void> => {
  for (let i = 0; i < 10_000 && !isSo(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isSo()).toBe(true);
};

export const receiverFor = async (
  handler: Handler,
  options: Parameters<typeof startReceiver>[1] = {},
): Promise<Receiver> => {
  const receiver = await startReceiver(handler, options);
  onTestFinished(receiver.close);
  return receiver;
};

export const tcpFor = async (handler: Parameters<typeof startTcp>[0]): Promise<Receiver> => {
  const receiver = await startTcp(handler);
  onTestFinished(receiver.close);
  return receiver;
};

export const failed = (
  category: Extract<CallbackAnswer, { kind: "failed" }>["category"],
): CallbackAnswer => ({
  kind: "failed",
  category,
});

export const urlAt = ({ port }: Receiver, name = "receiver.example"): string =>
  `https://${name}:${port}/hook`;

/** One call, short of time, after which the receiver has no connection left. */
export const callOf = async (
  receiver: Receiver,
  options: Parameters<typeof localClient>[0] = {},
): Promise<CallbackAnswer> => {
  const client = localClient({ deadlineMs: 10_000, ...options });
  const answer = await client.post(requestTo(urlAt(receiver)), never);
  await eventually(() => receiver.open() === 0);
  return answer;
};
