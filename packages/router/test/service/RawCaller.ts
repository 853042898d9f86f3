// A caller of the Router that speaks frames as they are told, right or wrong, and does nothing by itself.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { WebSocket, type ClientOptions } from "ws";
import * as Frames from "../../src/wire/Frames.ts";
import * as Hello from "../../src/wire/Hello.ts";
import type { Agent } from "../Fixture.ts";

export interface Closed {
  readonly kind: "closed";
  readonly code: number;
  readonly why: string;
}

export interface RawCaller {
  readonly socket: WebSocket;
  /** The next frame, or how the connection ended. */
  readonly next: () => Promise<Frames.ServerFrame | Closed>;
  /** Frames that arrived and were not taken by `next`. */
  readonly unread: () => number;
  readonly write: (frame: string | Buffer) => void;
  readonly send: (requestId: number, envelopeText: string) => void;
  readonly challenge: () => Promise<Frames.Challenge>;
}

export const call = (
  url: string,
  protocols: string | ReadonlyArray<string> = Frames.subprotocol,
  options: ClientOptions = {},
): RawCaller => {
  const socket = new WebSocket(url, [protocols].flat(), { perMessageDeflate: false, ...options });
  const arrived: Array<Frames.ServerFrame | Closed> = [];
  const waiting: Array<(frame: Frames.ServerFrame | Closed) => void> = [];
  const put = (frame: Frames.ServerFrame | Closed): void => {
    const waiter = waiting.shift();
    if (waiter === undefined) arrived.push(frame);
    else waiter(frame);
  };
  socket.on("message", (data) => put(Frames.decodeServerFrame(String(data))));
  socket.on("close", (code, why) => put({ kind: "closed", code, why: String(why) }));
  socket.on("error", () => {});
  const next = (): Promise<Frames.ServerFrame | Closed> => {
    const frame = arrived.shift();
    return frame === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(frame);
  };
  const write = (frame: string | Buffer): void => socket.send(frame);
  return {
    socket,
    next,
    unread: () => arrived.length,
    write,
    send: (requestId, envelopeText) => write(Frames.encodeSend(requestId, envelopeText)),
    challenge: async () => {
      const frame = await next();
      if (frame.kind !== "challenge") throw new Error(`expected a challenge, got ${JSON.stringify(frame)}`);
      return frame;
    },
  };
};

/** The frame that answers a challenge, with any of its parts exchanged. */
export const authenticateFrame = (
  agent: Agent,
  { nonce, routerInstanceId }: Frames.Challenge,
  changes: Partial<Frames.Authenticate> = {},
): string =>
  Frames.encode({
    kind: "authenticate",
    agentCard: AgentCard.encode(agent.card),
    nonce,
    signature: Hello.sign(agent.signer, { nonce, routerInstanceId, agentId: agent.card.agentId }),
    ...changes,
  });

/** A caller past its hello, with the `ready` it got. */
export const callAs = async (
  url: string,
  agent: Agent,
): Promise<RawCaller & { readonly ready: Frames.Ready }> => {
  const caller = call(url);
  caller.write(authenticateFrame(agent, await caller.challenge()));
  const ready = await caller.next();
  if (ready.kind !== "ready") throw new Error(`expected ready, got ${JSON.stringify(ready)}`);
  return { ...caller, ready };
};
