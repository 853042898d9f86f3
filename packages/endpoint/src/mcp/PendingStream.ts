// The one consumer of `org.social-harness/inbox.pending`: a content-free wake-up for a native host. The newest stream
// owns it; each has its own state, so nothing that an older one still does can reach a newer. What is due on a stream is
// a handful of flags, never a queue, so a slow reader costs constant memory. Implements ING-41 to ING-47, ING-98 and ING-192.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { codes, type McpError } from "./McpError.ts";

export const eventName = "org.social-harness/inbox.pending";

/** A client gives a stream up after two silent intervals; the draft asks for at most 30 s. */
export const heartbeatMsDefault = 15_000;

export type FrameMethod =
  | "notifications/events/active"
  | "notifications/events/event"
  | "notifications/events/error"
  | "notifications/events/heartbeat"
  | "notifications/events/terminated";

type Frame = readonly [method: FrameMethod, params: Readonly<Record<string, unknown>>];

/** One reader's open response. `send` rejects once the reader is gone. */
export interface Reader {
  readonly send: (method: FrameMethod, params: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Resolves when the reader can take another frame. */
  readonly ready: () => Promise<void>;
  /** Aborts when the reader has left. */
  readonly gone: AbortSignal;
}

export interface PendingStreamOptions {
  /** Throws when the inbox cannot be read now. */
  readonly pendingCount: () => number;
  /** Notes such an error in the log, and returns what the reader hears of it. */
  readonly failure: (error: unknown) => McpError;
  /** Calls back after the count has risen. Returns the function that ends it. */
  readonly onPending: (listener: () => void) => () => void;
  readonly heartbeatMs: number;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
}

export interface PendingStream {
  /** Takes over at once and serves until the reader leaves, a newer one comes, or `close`. Never rejects. */
  readonly attach: (reader: Reader) => Promise<void>;
  /** Ends the stream, and says that a webhook is the consumer now. */
  readonly displace: () => void;
  /** Ends the stream, and every later one as soon as it comes. Resolves when the last one has ended. */
  readonly close: () => Promise<void>;
}

/** Why a stream ends. Another consumer is the one reason that its reader must be told. */
type Ending = "superseded" | "displaced" | "closing" | "gone";

interface Due {
  event: boolean;
  heartbeat: boolean;
  ending: Ending | null;
  wake: () => void;
}

const terminations = {
  superseded: {
    code: codes.eventResourceExhausted,
    message: "A newer stream took over.",
    data: { limit: "streams", max: 1 },
  },
  displaced: {
    code: codes.eventResourceExhausted,
    message: "A webhook took over.",
    data: { limit: "consumers", max: 1 },
  },
};

const mark = (due: Due, change: Partial<Pick<Due, "event" | "heartbeat" | "ending">>): void => {
  // The first reason to end stays: whatever comes later finds a stream that is over.
  Object.assign(due, due.ending === null ? change : {});
  due.wake();
};

/** Resolves when something is due; at once when something is already. */
const somethingDue = (due: Due): Promise<void> => {
  if (due.event || due.heartbeat || due.ending !== null) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  due.wake = resolve;
  return promise;
};

export const make = (options: PendingStreamOptions): PendingStream => {
  const { pendingCount, failure, clock, random, heartbeatMs } = options;
  const open = new Set<Promise<void>>();
  let owner: Due | null = null;
  let closing = false;

  const occurrence = (count: number): Readonly<Record<string, unknown>> => ({
    eventId: `occ_${Base64Url.encode(random(16))}`,
    name: eventName,
    timestamp: new Date(clock()).toISOString(),
    data: { pendingCount: count },
    cursor: null,
  });

  /** The frame about the inbox that is due: none where nothing is unread, and an error where nobody can tell now. */
  const announcement = (): { readonly frame: Frame | null; readonly isOwed: boolean } => {
    try {
      const count = pendingCount();
      const frame: Frame = ["notifications/events/event", occurrence(count)];
      return { frame: count > 0 ? frame : null, isOwed: false };
    } catch (error) {
      const { code, message, data } = failure(error);
      return { frame: ["notifications/events/error", { error: { code, message, data } }], isOwed: true };
    }
  };

  /** Sends what is due, one frame after another, until the stream ends. Rejects when the reader is gone. */
  const pump = async (reader: Reader, due: Due): Promise<void> => {
    await reader.send("notifications/events/active", { cursor: null, truncated: false });
    let isOwed = false;
    for (;;) {
      await reader.ready();
      await somethingDue(due);
      if (due.ending === "superseded" || due.ending === "displaced") {
        await reader.send("notifications/events/terminated", { error: terminations[due.ending] });
      }
      if (due.ending !== null) return;
      if (due.event) {
        due.event = false;
        const told = announcement();
        isOwed = told.isOwed;
        if (told.frame !== null) await reader.send(...told.frame);
      } else {
        due.heartbeat = false;
        // What could not be told is tried again at this pace.
        due.event ||= isOwed;
        await reader.send("notifications/events/heartbeat", { cursor: null });
      }
    }
  };

  const serve = async (reader: Reader): Promise<void> => {
    const due: Due = { event: true, heartbeat: false, ending: closing ? "closing" : null, wake: () => {} };
    if (owner !== null) mark(owner, { ending: "superseded" });
    owner = due;
    const left = (): void => mark(due, { ending: "gone" });
    if (reader.gone.aborted) left();
    reader.gone.addEventListener("abort", left, { once: true });
    const forget = options.onPending(() => mark(due, { event: true }));
    const pulse = setInterval(() => mark(due, { heartbeat: true }), heartbeatMs);
    pulse.unref();
    try {
      await pump(reader, due);
    } catch {
      // A frame that could not be delivered: the reader is gone, and it is this stream's business alone.
    } finally {
      clearInterval(pulse);
      forget();
      reader.gone.removeEventListener("abort", left);
      if (owner === due) owner = null;
    }
  };

  return {
    attach: (reader) => {
      const served = serve(reader).finally(() => open.delete(served));
      open.add(served);
      return served;
    },
    displace: () => {
      if (owner !== null) mark(owner, { ending: "displaced" });
    },
    close: async () => {
      closing = true;
      if (owner !== null) mark(owner, { ending: "closing" });
      await Promise.all(open);
    },
  };
};
