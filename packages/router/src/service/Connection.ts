// One socket of the Router: greets its caller, then passes each frame to whom it concerns, and ends once with a reason.
// Implements RTR-20 to RTR-29.

import { Opaque32, type AgentId, type SigningKey } from "@social-harness/protocol/identity/Identifier";
import { LogError } from "@social-harness/log/LogError";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import * as Frames from "../wire/Frames.ts";
import * as Heartbeat from "../wire/Heartbeat.ts";
import type { Acknowledgments } from "./Acknowledgments.ts";
import { judge } from "./Greeting.ts";
import { makeMailbox, type Mailbox } from "./Mailbox.ts";
import { takeSends, type Sends, type SendsContext } from "./Sends.ts";

export interface ConnectionLimits {
  readonly helloMs: number;
  readonly heartbeatMs: number;
  readonly pendingSendsMax: number;
  readonly windowDeliveriesMax: number;
  readonly windowBytesMax: number;
}

/** What every connection of one Router shares. */
export interface ConnectionContext extends SendsContext {
  readonly acknowledgments: Acknowledgments;
  readonly routerKey: SigningKey;
  readonly registryKey: SigningKey;
  readonly random: (byteCount: number) => Uint8Array;
  readonly logger: Logger;
  readonly limits: ConnectionLimits;
  readonly live: Map<AgentId, LiveConnection>;
  /** The caller on this stream is known. */
  readonly onCaller: (stream: Socket) => void;
}

export interface LiveConnection {
  readonly mailbox: Mailbox;
  readonly supersede: () => void;
}

/** What a connection has once its caller is known. */
interface Served {
  readonly agentId: AgentId;
  readonly mailbox: Mailbox;
  readonly sends: Sends;
}

export interface Connection {
  readonly end: (code: number, why: string) => void;
}

/** WebSocket close codes: going away, policy violation, internal error, and one of our own. */
export const closeCode = { goingAway: 1001, policy: 1008, fault: 1011, refused: 4_001 } as const;

/** Says that it is over, and cuts off a peer that does not take note of that in the time of a hello. */
export const closeIn = (socket: WebSocket, helloMs: number, code: number, why: string): void => {
  socket.close(code, why);
  const cut = setTimeout(() => socket.terminate(), helloMs);
  socket.once("close", () => clearTimeout(cut));
};

/** Serves one caller. `stream` is what the socket writes to. */
export const serveConnection = (
  socket: WebSocket,
  stream: Socket,
  context: ConnectionContext,
): Connection => {
  const { limits, metrics, logger } = context;
  const challenge: Frames.Challenge = {
    kind: "challenge",
    nonce: Opaque32.fromBytes(context.random(32)),
    routerInstanceId: context.store.routerInstanceId,
    routerKey: context.routerKey,
  };
  let served: Served | null = null;
  let ended = false;
  let corked = false;

  const end = (code: number, why: string): void => {
    if (ended) return;
    ended = true;
    clearTimeout(helloTimer);
    served?.mailbox.close();
    socket.resume();
    closeIn(socket, limits.helloMs, code, why);
  };

  /** What is written in one breath leaves in one piece: a verdict and the own copy behind it, the pages of a mailbox. */
  const cork = (): void => {
    if (corked) return;
    corked = true;
    stream.cork();
    process.nextTick(() => {
      corked = false;
      stream.uncork();
    });
  };

  const write = (frame: Buffer | string): void => {
    if (ended || socket.readyState !== socket.OPEN) return;
    cork();
    socket.send(frame, { binary: false });
    // The window bounds deliveries; this bounds the replies of a caller that asks and never reads.
    if (socket.bufferedAmount > limits.windowBytesMax + Limits.frameBytesMax + Limits.unreadReplyBytesMax) {
      socket.terminate();
    }
  };

  const refuse = (reason: Frames.RefusedReason): void => {
    metrics.refused(reason);
    write(Frames.encode({ kind: "refused", reason }));
    end(closeCode.refused, reason);
  };

  const fault = (error: unknown): void => {
    if (error instanceof LogError) context.onLog(error);
    else logger("error", "router connection failed", { error: String(error) });
    end(closeCode.fault, "internal");
  };

  const greet = (frame: Frames.ClientFrame): void => {
    if (frame.kind !== "authenticate") return end(closeCode.policy, "expected-authenticate");
    const caller = judge(context.registryKey, challenge, frame);
    if (typeof caller === "string") return refuse(caller);
    clearTimeout(helloTimer);
    context.onCaller(stream);
    const agentId = caller.card.agentId;
    context.live.get(agentId)?.supersede();
    const { acknowledgedCursor, tailCursor, acceptedSends } = context.store.mailbox(agentId);
    const state = {
      acknowledgedCursor: Math.max(acknowledgedCursor, context.acknowledgments.noted(agentId)),
      tailCursor,
      acceptedSends,
    };
    const mailbox = makeMailbox({
      agentId,
      store: context.store,
      state,
      windowDeliveriesMax: limits.windowDeliveriesMax,
      windowBytesMax: limits.windowBytesMax,
      write: (delivery) => {
        metrics.delivered();
        write(delivery);
      },
      onFault: fault,
    });
    served = { agentId, mailbox, sends: takeSends(socket, context, caller, write, fault) };
    context.live.set(agentId, { mailbox, supersede: () => refuse("superseded") });
    write(Frames.encode({ kind: "ready", ...state }));
    mailbox.open();
  };

  const acknowledge = ({ agentId, mailbox }: Served, cursor: number): void => {
    if (!mailbox.acknowledge(cursor)) return end(closeCode.policy, "ack-beyond-tail");
    context.acknowledgments.note(agentId, cursor);
  };

  const receive = (frame: Frames.ClientFrame): void => {
    if (served === null) return greet(frame);
    switch (frame.kind) {
      case "send":
        return served.sends.take(frame);
      case "unreadable_send":
        return served.sends.reject(frame.requestId, frame.reason);
      case "ack":
        return acknowledge(served, frame.cursor);
      case "authenticate":
        return end(closeCode.policy, "already-authenticated");
    }
  };

  const onMessage = (data: RawData, isBinary: boolean): void => {
    if (ended) return;
    let frame: Frames.ClientFrame;
    try {
      if (isBinary) return end(closeCode.policy, "binary-frame");
      frame = Frames.decodeClientFrame((data as Buffer).toString("utf8"));
    } catch {
      return end(closeCode.policy, "malformed-frame");
    }
    try {
      receive(frame);
    } catch (error) {
      fault(error);
    }
  };

  const helloTimer = setTimeout(() => end(closeCode.policy, "hello-timeout"), limits.helloMs);
  const unwatch = Heartbeat.watch(socket, limits.heartbeatMs, () => socket.terminate());
  socket.on("message", onMessage);
  socket.on("error", (error) => logger("info", "router socket error", { message: error.message }));
  socket.on("close", () => {
    ended = true;
    clearTimeout(helloTimer);
    unwatch();
    if (served === null) return;
    served.mailbox.close();
    if (context.live.get(served.agentId)?.mailbox === served.mailbox) context.live.delete(served.agentId);
  });
  write(Frames.encode(challenge));
  return { end };
};
