// The sends of one client: in order, a bounded window on the wire, and back to the front of the queue when a connection
// ends or the Router has no room now. Knows envelopes only as finished text. Implements RTR-42 and RTR-43.

import type { MessageId, Opaque32 } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "../Limits.ts";
import * as Frames from "../wire/Frames.ts";
import { makeBackoff, type BackoffLimits } from "./Backoff.ts";

/**
 * `accepted`: the Router has it on disk. `rejected`: it never will take these bytes, except for `unavailable`, which
 * here only says that this client was closed first.
 */
export type SendOutcome =
  | { readonly kind: "accepted"; readonly lane: Opaque32; readonly sequence: number }
  | { readonly kind: "rejected"; readonly reason: Frames.RejectedReason };

interface Item {
  readonly envelopeText: string;
  readonly messageId: MessageId;
  readonly resolve: (outcome: SendOutcome) => void;
  requestId: number;
  answered: boolean;
}

export interface Outgoing {
  readonly send: (envelopeText: string, messageId: MessageId) => Promise<SendOutcome>;
  /** A connection is ready: write what waits. */
  readonly attach: (write: (frame: string) => void) => void;
  /** The connection is gone: what has no verdict waits again, in its order. */
  readonly detach: () => void;
  /** Takes a verdict; false when it answers nothing that was asked. */
  readonly settle: (frame: Frames.Accepted | Frames.Rejected) => boolean;
  /** Ends every pending send as `unavailable`. */
  readonly close: () => void;
}

export const makeOutgoing = (
  limits: BackoffLimits & { readonly clientInFlightMax: number },
  random: (byteCount: number) => Uint8Array,
  /** The Router begins to refuse everything as `unavailable`, or gives another verdict again. */
  onTaking: (taking: boolean) => void = () => {},
): Outgoing => {
  // The Router's own hold lasts a moment; repeating faster than this would only use up the sender's budget.
  const backoff = makeBackoff(random, limits);
  let waiting: Array<Item> = [];
  let flying: Array<Item> = [];
  let flyingBytes = 0;
  let nextRequestId = 1;
  let write: ((frame: string) => void) | null = null;
  let holding = false;
  let closed = false;
  let taking = true;
  let timer: NodeJS.Timeout | undefined;

  const fits = (item: Item): boolean =>
    flying.length === 0 ||
    (flying.length < limits.clientInFlightMax &&
      flyingBytes + item.envelopeText.length <= Limits.windowBytesMax);

  const pump = (): void => {
    if (write === null || holding) return;
    let item = waiting[0];
    while (item !== undefined && fits(item)) {
      waiting.shift();
      item.requestId = nextRequestId++;
      item.answered = false;
      flying.push(item);
      flyingBytes += item.envelopeText.length;
      write(Frames.encodeSend(item.requestId, item.envelopeText));
      item = waiting[0];
    }
  };

  /** Everything without a final verdict goes back to the front, in its order. */
  const recall = (): void => {
    waiting = [...flying, ...waiting];
    flying = [];
    flyingBytes = 0;
  };

  /** The Router refuses what follows a refused send too, so once all are answered the order is still whole. */
  const holdUntilAnswered = (): void => {
    holding = true;
    if (flying.some((item) => !item.answered)) return;
    recall();
    timer = setTimeout(() => {
      holding = false;
      pump();
    }, backoff.next());
  };

  const isTaking = (now: boolean): void => {
    if (now === taking) return;
    taking = now;
    onTaking(now);
  };

  return {
    send: (envelopeText, messageId) => {
      const { promise, resolve } = Promise.withResolvers<SendOutcome>();
      if (closed) resolve({ kind: "rejected", reason: "unavailable" });
      else waiting.push({ envelopeText, messageId, resolve, requestId: 0, answered: false });
      pump();
      return promise;
    },
    attach: (to) => {
      write = to;
      pump();
    },
    detach: () => {
      write = null;
      clearTimeout(timer);
      holding = false;
      recall();
    },
    settle: (frame) => {
      const index = flying.findIndex((item) => item.requestId === frame.requestId && !item.answered);
      const item = flying[index];
      if (item === undefined) return false;
      if (frame.kind === "rejected" && (frame.reason === "rate-limited" || frame.reason === "unavailable")) {
        item.answered = true;
        if (frame.reason === "unavailable") isTaking(false);
        holdUntilAnswered();
        return true;
      }
      isTaking(true);
      flying.splice(index, 1);
      flyingBytes -= item.envelopeText.length;
      item.resolve(
        frame.kind === "accepted"
          ? { kind: "accepted", lane: frame.lane, sequence: frame.sequence }
          : { kind: "rejected", reason: frame.reason },
      );
      if (holding) holdUntilAnswered();
      else backoff.reset();
      pump();
      return true;
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
      recall();
      for (const item of waiting) item.resolve({ kind: "rejected", reason: "unavailable" });
      waiting = [];
    },
  };
};
