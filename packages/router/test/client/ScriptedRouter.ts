// A Router that does what a test tells it, right or wrong: the client's counterpart for misbehaviour.

import type { AddressInfo } from "node:net";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import { WebSocketServer, type WebSocket } from "ws";
import * as Frames from "../../src/wire/Frames.ts";
import * as Lane from "../../src/wire/Lane.ts";
import * as Envelope from "../../src/wire/Envelope.ts";
import { random, routerSigner } from "../Fixture.ts";

export interface Visit {
  readonly socket: WebSocket;
  /** Client frames after the hello, in order. */
  readonly frames: Array<Frames.ClientFrame>;
  readonly write: (frame: string) => void;
}

export interface ScriptedRouter {
  readonly url: string;
  readonly routerKey: typeof routerSigner.publicKey;
  /** Resolves with the n-th connection (from 1) once its hello is over. */
  readonly visit: (n: number) => Promise<Visit>;
  readonly helloFrames: Array<Frames.ClientFrame>;
  readonly close: () => Promise<void>;
}

export const routerInstanceId = Lane.routerInstanceIdOf(
  routerSigner.publicKey,
  Opaque32.fromBytes(Buffer.alloc(32)),
);

export interface Script {
  readonly challenge?: Partial<Frames.Challenge>;
  /** What answers `authenticate` on the n-th connection. */
  readonly answer?: (n: number) => string;
  readonly onFrame?: (visit: Visit, frame: Frames.ClientFrame) => void;
  readonly autoPong?: boolean;
}

export const readyFrame = (state: Partial<Frames.Ready> = {}): string =>
  Frames.encode({ kind: "ready", acknowledgedCursor: 0, tailCursor: 0, acceptedSends: 0, ...state });

export const startScripted = async (script: Script = {}): Promise<ScriptedRouter> => {
  const server = new WebSocketServer({
    host: "127.0.0.1",
    port: 0,
    handleProtocols: () => Frames.subprotocol,
    autoPong: script.autoPong ?? true,
  });
  const visits: Array<PromiseWithResolvers<Visit>> = [];
  const nth = (n: number): PromiseWithResolvers<Visit> => {
    while (visits.length < n) visits.push(Promise.withResolvers<Visit>());
    return visits[n - 1] as PromiseWithResolvers<Visit>;
  };
  const helloFrames: Array<Frames.ClientFrame> = [];
  let count = 0;
  server.on("connection", (socket) => {
    const n = ++count;
    const visit: Visit = { socket, frames: [], write: (frame) => socket.send(frame) };
    let greeted = false;
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const frame = Frames.decodeClientFrame(String(data));
      if (greeted) {
        visit.frames.push(frame);
        script.onFrame?.(visit, frame);
        return;
      }
      greeted = true;
      helloFrames.push(frame);
      visit.write(script.answer?.(n) ?? readyFrame());
      nth(n).resolve(visit);
    });
    visit.write(
      Frames.encode({
        kind: "challenge",
        nonce: Opaque32.fromBytes(random(32)),
        routerInstanceId,
        routerKey: routerSigner.publicKey,
        ...script.challenge,
      }),
    );
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    routerKey: routerSigner.publicKey,
    visit: (n) => nth(n).promise,
    helloFrames,
    close: async () => {
      for (const socket of server.clients) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Answers a send as a Router would that put it at this place of its lane. */
export const accept = (visit: Visit, frame: Frames.ClientFrame, sequence: number): void => {
  if (frame.kind !== "send") return;
  const lane = Lane.laneOf(frame.envelope.recipientAgentIds);
  visit.write(Frames.encode({ kind: "accepted", requestId: frame.requestId, lane, sequence }));
};

/** A delivery of an envelope at a place of its lane, signed by the pinned key unless a part is exchanged. */
export const deliverFrame = (
  cursor: number,
  { envelope, text }: Envelope.FinishedEnvelope,
  changes: Partial<Frames.DeliveryBody> & { readonly signer?: typeof routerSigner } = {},
): string => {
  const { signer = routerSigner, ...rest } = changes;
  const lane = rest.lane ?? Lane.laneOf(envelope.recipientAgentIds);
  const sequence = rest.sequence ?? cursor;
  const laneHead = Lane.laneHeadOf({
    lane,
    previous: null,
    sequence,
    envelopeDigest: Envelope.digestOfText(text),
  });
  const signature = Lane.sign(signer, { routerInstanceId, lane, sequence, laneHead });
  return `{"cursor":${cursor},${Frames.encodeDeliveryBody({ envelopeText: text, lane, laneHead, sequence, signature, ...rest })}`;
};
