// Envelopes of this process that the lane will bring back to it. A copy with the bytes that were put into the outbox says
// what this process said: it is neither opened nor verified again. Remembers little, and nothing across a restart; what it
// does not know is taken in like anybody else's.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { MessageId, Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { Delivery } from "@social-harness/router/client/RouterClient";

export interface OwnCopy {
  /** Of the finished envelope, its signature included: no other bytes have it. */
  readonly envelopeDigest: Opaque32;
  /** What it holds; null where that was too large to be kept. */
  readonly packets: ReadonlyArray<Packet> | null;
  /** Whether its place in the lane moves something here. */
  readonly isAwaited: boolean;
}

export interface OwnCopies {
  readonly remember: (messageId: MessageId, copy: OwnCopy) => void;
  /** The own copy that a delivery is, byte for byte, or null. Each is found once. */
  readonly take: (delivery: Pick<Delivery, "envelope" | "envelopeDigest">) => OwnCopy | null;
}

/** Packets of one envelope that are kept: a certificate of the largest group fits, a post of the largest size does not. */
export const packetBytesKeptMax = 65_536;
/** Copies under way at one time, the oldest forgotten first. */
const copiesKeptMax = 256;

export const createOwnCopies = (): OwnCopies => {
  const copies = new Map<MessageId, OwnCopy>();
  return {
    remember: (messageId, copy) => {
      if (copies.size >= copiesKeptMax) copies.delete(copies.keys().next().value as MessageId);
      copies.set(messageId, copy);
    },
    take: ({ envelope, envelopeDigest }) => {
      const copy = copies.get(envelope.messageId);
      if (copy === undefined || copy.envelopeDigest !== envelopeDigest) return null;
      copies.delete(envelope.messageId);
      return copy;
    },
  };
};
