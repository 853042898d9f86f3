// One connection of a client, from the socket's opening to its end: the hello against the pinned key, then frames to
// whom they concern. Ends once, with one reason. Implements RTR-40, RTR-41 and RTR-55.

import type { ProxyEnv } from "node:http";
import { Agent } from "node:https";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import * as Dialled from "@social-harness/protocol/sockets/Dialled";
import { WebSocket, type RawData } from "ws";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import * as Frames from "../wire/Frames.ts";
import * as Heartbeat from "../wire/Heartbeat.ts";
import * as Hello from "../wire/Hello.ts";
import * as Transport from "../wire/Transport.ts";
import type { Incoming, IncomingOptions, ReadyState } from "./Incoming.ts";
import type { Outgoing } from "./Outgoing.ts";

/** Why a connection or an attempt ended. The client goes on trying after each of them. */
export type DisconnectReason =
  | Frames.RefusedReason
  /** Not reached, or not by a Router. */
  | "unreachable"
  /** Another key than the pinned one: nothing was said to it. */
  | "wrong-router-key"
  | "connection-lost"
  | "heartbeat-lost"
  /** The Router broke the protocol: an undecodable frame, a bad lane signature, a cursor out of order. */
  | "protocol-error"
  /** `onDeliver` or `onGap` failed; the delivery comes again on the next connection. */
  | "delivery-failed";

export interface SessionOptions extends IncomingOptions {
  /** `wss://...`, or `ws://` to loopback. */
  readonly url: string;
  readonly signer: Signer;
  readonly logger: Logger;
  /** After every (re)connection, before any delivery on it. */
  readonly onReady: (ready: ReadyState) => void;
  /** Certificate authorities in PEM, in place of the system's. */
  readonly certificateAuthority?: string;
  /** Names proxies as HTTPS_PROXY and NO_PROXY do; without it there is none. Loopback is never asked through one. */
  readonly proxyEnvironment?: ProxyEnv;
}

export interface SessionLimits {
  readonly heartbeatMs: number;
  readonly helloMs: number;
  readonly steadyMs: number;
}

export interface Session {
  readonly ready: boolean;
  readonly close: () => Promise<void>;
}

export interface SessionOwner {
  readonly outgoing: Outgoing;
  readonly incoming: Incoming;
  /** The connection has brought something, or has stood for a while: it was worth making. */
  readonly onWorth: () => void;
  /** `cause` is what the socket threw, where it threw something. */
  readonly onEnd: (reason: DisconnectReason, cause?: Error) => void;
}

interface Way {
  readonly agent?: Agent;
  /** Ends the attempt wherever it is: also at a proxy that has taken the connection and says nothing. */
  readonly cut: Dialled.EndAll;
}

/** What leads the socket through a proxy, where there may be one. Plain ws is for loopback, so it has none. */
const wayTo = ({ url, proxyEnvironment }: SessionOptions): Way => {
  const { protocol, hostname } = new URL(url);
  if (proxyEnvironment === undefined || protocol !== "wss:" || Transport.isLoopback(hostname)) {
    return { cut: () => {} };
  }
  const agent = new Agent({ proxyEnv: proxyEnvironment });
  return { agent, cut: Dialled.watch(agent) };
};

export const openSession = (options: SessionOptions, limits: SessionLimits, owner: SessionOwner): Session => {
  const { outgoing, incoming } = owner;
  const { cut, ...way } = wayTo(options);
  const socket = new WebSocket(options.url, Frames.subprotocol, {
    perMessageDeflate: false,
    maxPayload: Limits.frameBytesMax,
    handshakeTimeout: limits.helloMs,
    followRedirects: false,
    ...way,
    ...(options.certificateAuthority === undefined ? {} : { ca: options.certificateAuthority }),
  });
  let challenge: Frames.Challenge | null = null;
  let ready = false;
  let reason: DisconnectReason | null = null;
  let cause: Error | undefined;
  let unwatch = (): void => {};
  const helloTimer = setTimeout(() => fail("unreachable"), limits.helloMs);
  let steadyTimer: NodeJS.Timeout | undefined;

  /** A proxy is not waited for: without a hello there is nothing to say good-bye to. */
  const terminate = (): void => {
    socket.terminate();
    if (socket.readyState !== WebSocket.CLOSED) cut(new Error("the attempt was given up"));
  };

  /** The first reason counts; the socket's end follows. */
  const fail = (why: DisconnectReason): void => {
    reason ??= why;
    terminate();
  };

  const write = (frame: string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(frame);
  };

  const answer = (frame: Frames.Challenge): void => {
    if (frame.routerKey !== options.routerKey) return fail("wrong-router-key");
    challenge = frame;
    const { nonce, routerInstanceId } = frame;
    const hello = { nonce, routerInstanceId, agentId: options.card.agentId };
    write(
      Frames.encode({
        kind: "authenticate",
        agentCard: AgentCard.encode(options.card),
        nonce,
        signature: Hello.sign(options.signer, hello),
      }),
    );
  };

  const begin = ({ routerInstanceId }: Frames.Challenge, frame: Frames.Ready): void => {
    const { acknowledgedCursor, tailCursor, acceptedSends } = frame;
    const state = { routerInstanceId, acknowledgedCursor, tailCursor, acceptedSends };
    clearTimeout(helloTimer);
    unwatch = Heartbeat.watch(socket, limits.heartbeatMs, () => fail("heartbeat-lost"));
    ready = true;
    steadyTimer = setTimeout(owner.onWorth, limits.steadyMs);
    incoming.attach({ write, pause: () => socket.pause(), resume: () => socket.resume(), fail }, state);
    options.onReady(state);
    outgoing.attach(write);
  };

  /** Which frames may come when: a challenge first, then `ready`, then the rest; a refusal at any time. */
  const receive = (frame: Frames.ServerFrame): void => {
    if (frame.kind === "refused") return fail(frame.reason);
    if (challenge === null) return frame.kind === "challenge" ? answer(frame) : fail("protocol-error");
    if (!ready) return frame.kind === "ready" ? begin(challenge, frame) : fail("protocol-error");
    if (frame.kind === "deliver" || frame.kind === "gap") {
      owner.onWorth();
      return incoming.receive(frame);
    }
    if (frame.kind === "accepted" || frame.kind === "rejected") {
      owner.onWorth();
      return outgoing.settle(frame) ? undefined : fail("protocol-error");
    }
    fail("protocol-error");
  };

  const onMessage = (data: RawData, isBinary: boolean): void => {
    if (reason !== null) return;
    let frame: Frames.ServerFrame;
    try {
      if (isBinary) return fail("protocol-error");
      frame = Frames.decodeServerFrame((data as Buffer).toString("utf8"));
    } catch {
      return fail("protocol-error");
    }
    receive(frame);
  };

  const ended = Promise.withResolvers<void>();
  const onEnd = (): void => {
    clearTimeout(helloTimer);
    clearTimeout(steadyTimer);
    unwatch();
    const wasReady = ready;
    ready = false;
    incoming.detach();
    outgoing.detach();
    ended.resolve();
    owner.onEnd(reason ?? (wasReady ? "connection-lost" : "unreachable"), cause);
  };

  socket.on("message", onMessage);
  socket.on("close", onEnd);
  // A close follows every error; what matters to the endpoint is said there.
  socket.on("error", (error) => {
    cause ??= error;
    options.logger("info", "router socket error", { message: error.message });
  });

  return {
    get ready() {
      return ready;
    },
    close: async () => {
      if (socket.readyState === WebSocket.CONNECTING) terminate();
      else if (socket.readyState !== WebSocket.CLOSED) socket.close(1000);
      const late = setTimeout(terminate, Limits.closeMs);
      await ended.promise;
      clearTimeout(late);
    },
  };
};
