// A member of the network as the Router's bench needs it: says hello, writes finished envelopes, counts what it is
// delivered and acknowledges it. Verifies and opens nothing, so that the Router is what is measured.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { PrincipalId } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import * as Frames from "@social-harness/router/wire/Frames";
import * as Hello from "@social-harness/router/wire/Hello";
import { type Reached, seedOf } from "@social-harness/testkit/network/Network";
import { identityOf } from "@social-harness/testkit/network/NetworkAgent";
import { WebSocket } from "ws";

export interface Identity {
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
}

export interface RouterMember {
  readonly send: (requestId: number, envelopeText: string) => void;
  readonly close: () => void;
}

/** A card of the test network's Registry, issued here: the Router checks cards by themselves. */
export const identity = (name: string): Identity => {
  const registry = Ed25519.signerFromSeed(seedOf("registry"));
  const { signer, signingKey, sealingKey } = identityOf(name);
  const keys: AgentCard.AgentKeys = {
    agentName: name as AgentName,
    principalId: PrincipalId.fromBytes(seedOf(name).subarray(0, 16)),
    signingKey,
    sealingKey,
    registryKey: registry.publicKey,
  };
  const issuedAt = "2026-01-01T00:00:00Z" as AgentCard.Timestamp;
  return { signer, card: AgentCard.issue(registry, keys, AgentCard.signKeys(signer, keys), issuedAt) };
};

/** Deliveries between two acknowledgments: an endpoint acknowledges a turn's worth at once too. */
const acknowledgeEvery = 32;

const isAccepted = (text: string): boolean => text.startsWith('{"kind":"accepted"');
const cursorOf = (text: string): number | null => {
  const found = /^\{"cursor":(\d+),/.exec(text);
  return found === null ? null : Number(found[1]);
};

/** Connects and says hello. `onAccepted` and `onDelivered` are called for every frame of their kind. */
export const connect = async (
  { routerUrl }: Pick<Reached, "routerUrl">,
  { card, signer }: Identity,
  on: { readonly accepted: () => void; readonly delivered: () => void },
): Promise<RouterMember> => {
  const socket = new WebSocket(routerUrl, Frames.subprotocol, { perMessageDeflate: false });
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const greet = (text: string): void => {
    const frame = Frames.decodeServerFrame(text);
    if (frame.kind === "ready") return resolve();
    if (frame.kind !== "challenge") return reject(new Error(`the Router said ${text}`));
    const { nonce, routerInstanceId } = frame;
    const signature = Hello.sign(signer, { nonce, routerInstanceId, agentId: card.agentId });
    socket.send(Frames.encode({ kind: "authenticate", agentCard: AgentCard.encode(card), nonce, signature }));
  };
  socket.on("message", (data) => {
    const text = String(data);
    if (isAccepted(text)) return on.accepted();
    const cursor = cursorOf(text);
    if (cursor === null) return greet(text);
    on.delivered();
    if (cursor % acknowledgeEvery === 0) socket.send(Frames.encode({ kind: "ack", cursor }));
  });
  socket.on("error", reject);
  await ready;
  return {
    send: (requestId, envelopeText) => socket.send(Frames.encodeSend(requestId, envelopeText)),
    close: () => socket.terminate(),
  };
};
