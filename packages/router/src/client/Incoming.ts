// What a Router delivers, checked and handed over one at a time: cursors without silent holes, the lane that the
// recipients make, the Router's signature on the lane head. Reads no further while the endpoint is behind.
// Implements RTR-44 to RTR-46.

import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type {
  Ed25519Signature,
  Opaque32,
  RouterInstanceId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import * as Limits from "../Limits.ts";
import * as Envelope from "../wire/Envelope.ts";
import * as Frames from "../wire/Frames.ts";
import * as Lane from "../wire/Lane.ts";

/** What the Router says about this agent on every connection. */
export interface ReadyState {
  readonly routerInstanceId: RouterInstanceId;
  readonly acknowledgedCursor: number;
  readonly tailCursor: number;
  readonly acceptedSends: number;
}

export interface Delivery {
  readonly cursor: number;
  readonly lane: Opaque32;
  readonly sequence: number;
  /** Signed by the pinned Router key for this instance, lane and sequence; not compared with its predecessor. */
  readonly laneHead: Opaque32;
  readonly signature: Ed25519Signature;
  /** Decoded and addressed to this agent on this lane; its sender's signature is not verified. */
  readonly envelope: Envelope.Envelope;
  /** Its JCS, as its sender made it. */
  readonly envelopeText: string;
  readonly envelopeDigest: Opaque32;
}

export interface Gap {
  readonly fromCursor: number;
  readonly toCursor: number;
}

/** One ready connection as seen from here. */
export interface Source {
  readonly write: (frame: string) => void;
  readonly pause: () => void;
  readonly resume: () => void;
  readonly fail: (reason: "protocol-error" | "delivery-failed") => void;
}

export interface Incoming {
  readonly attach: (source: Source, ready: ReadyState) => void;
  readonly detach: () => void;
  readonly receive: (frame: Frames.Deliver | Frames.Gap) => void;
  readonly acknowledge: (cursor: number) => void;
  /** Writes an acknowledgment that still waits for its turn. */
  readonly flush: () => void;
  /** Ends the connection: something that was handed over could not be kept after all. */
  readonly refuse: () => void;
}

export interface IncomingOptions {
  /** The pinned key: the only one whose signatures count. */
  readonly routerKey: SigningKey;
  readonly card: AgentCard.AgentCard;
  readonly verifier: Verifier;
  /**
   * Called in cursor order, the next one only when this one's promise has resolved. Says nothing to the Router: `ack`
   * does. A new connection repeats what was not acknowledged, so cursors that the endpoint has behind it may come again.
   */
  readonly onDeliver: (delivery: Delivery) => void | Promise<void>;
  readonly onGap: (gap: Gap) => void | Promise<void>;
}

/** Null when the Router has no business delivering this. */
const deliveryOf = (
  { card, verifier, routerKey }: IncomingOptions,
  routerInstanceId: RouterInstanceId,
  frame: Frames.Deliver,
): Delivery | null => {
  const { cursor, lane, sequence, laneHead, signature, envelope, envelopeText } = frame;
  const isMine =
    envelope.recipientAgentIds.includes(card.agentId) && Lane.laneOf(envelope.recipientAgentIds) === lane;
  const head = { routerInstanceId, lane, sequence, laneHead };
  if (!isMine || !Lane.verify(verifier, routerKey, head, signature)) return null;
  const envelopeDigest = Envelope.digestOfText(envelopeText);
  return { cursor, lane, sequence, laneHead, signature, envelope, envelopeText, envelopeDigest };
};

const sizeOf = (frame: Frames.Deliver | Frames.Gap): number =>
  frame.kind === "deliver" ? frame.envelopeText.length : 0;

export const makeIncoming = (options: IncomingOptions): Incoming => {
  let source: Source | null = null;
  let routerInstanceId: RouterInstanceId | null = null;
  let queue: Array<Frames.Deliver | Frames.Gap> = [];
  let queuedBytes = 0;
  let paused = false;
  let handing = false;
  let nextCursor = 1;
  let tailCursor = 0;
  let acknowledged = 0;
  let announced = 0;
  /** Delivered bytes since the last acknowledgment left. */
  let unannouncedBytes = 0;
  let flushing: NodeJS.Timeout | undefined;

  const flush = (): void => {
    clearTimeout(flushing);
    flushing = undefined;
    if (source === null || acknowledged <= announced) return;
    announced = acknowledged;
    unannouncedBytes = 0;
    source.write(Frames.encode({ kind: "ack", cursor: acknowledged }));
  };

  /** A correct Router stays within the window by itself; this bounds the memory that another can take. */
  const throttle = (): void => {
    const full = queuedBytes > Limits.windowBytesMax || queue.length > Limits.windowDeliveriesMax;
    if (full === paused || source === null) return;
    paused = full;
    if (full) source.pause();
    else source.resume();
  };

  /** Cursors go up by one; only what this agent itself acknowledged may be passed over. */
  const follows = (cursor: number): boolean =>
    cursor >= nextCursor && cursor - 1 <= Math.max(nextCursor - 1, announced);

  /** Nothing that came after what broke may reach the endpoint: it would be a silent hole. */
  const fail = (reason: "protocol-error" | "delivery-failed"): void => {
    const failed = source;
    detach();
    failed?.fail(reason);
  };

  const detach = (): void => {
    clearTimeout(flushing);
    flushing = undefined;
    source = null;
    queue = [];
    queuedBytes = 0;
    unannouncedBytes = 0;
    paused = false;
  };

  /** Hands one frame over. A promise only when the endpoint needs time. */
  const handOver = (frame: Frames.Deliver | Frames.Gap): void | Promise<void> => {
    const first = frame.kind === "gap" ? frame.fromCursor : frame.cursor;
    const last = frame.kind === "gap" ? frame.toCursor : frame.cursor;
    if (!follows(first)) return fail("protocol-error");
    nextCursor = last + 1;
    tailCursor = Math.max(tailCursor, last);
    unannouncedBytes += sizeOf(frame);
    if (frame.kind === "gap") return options.onGap({ fromCursor: first, toCursor: last });
    const delivery = deliveryOf(options, routerInstanceId as RouterInstanceId, frame);
    return delivery === null ? fail("protocol-error") : options.onDeliver(delivery);
  };

  const handingFailed = (): void => {
    handing = false;
    fail("delivery-failed");
  };

  const drain = (): void => {
    while (!handing && queue.length > 0) {
      const frame = queue.shift() as Frames.Deliver | Frames.Gap;
      queuedBytes -= sizeOf(frame);
      let waiting: void | Promise<void>;
      try {
        waiting = handOver(frame);
      } catch {
        return handingFailed();
      }
      if (waiting === undefined) continue;
      handing = true;
      waiting.then(() => {
        handing = false;
        drain();
      }, handingFailed);
    }
    throttle();
  };

  return {
    attach: (to, ready) => {
      source = to;
      if (ready.routerInstanceId !== routerInstanceId || acknowledged > ready.tailCursor) acknowledged = 0;
      routerInstanceId = ready.routerInstanceId;
      tailCursor = ready.tailCursor;
      nextCursor = ready.acknowledgedCursor + 1;
      acknowledged = Math.max(acknowledged, ready.acknowledgedCursor);
      announced = ready.acknowledgedCursor;
      flush();
    },
    detach,
    receive: (frame) => {
      if (source === null) return;
      queue.push(frame);
      queuedBytes += sizeOf(frame);
      drain();
    },
    acknowledge: (cursor) => {
      if (cursor > tailCursor) return;
      acknowledged = Math.max(acknowledged, cursor);
      const isMuch =
        acknowledged - announced >= Limits.clientAcknowledgeDeliveriesMax ||
        unannouncedBytes >= Limits.clientAcknowledgeBytesMax;
      if (isMuch) flush();
      else flushing ??= setTimeout(flush, Limits.clientAcknowledgeDelayMs);
    },
    flush,
    refuse: () => fail("delivery-failed"),
  };
};
