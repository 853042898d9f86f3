// An agent's standing connection to its Router: says hello, keeps sends in order across reconnections, hands over
// deliveries one at a time, and never trusts the Router further than its signatures. Remembers nothing across a restart:
// envelopes and cursors live in the endpoint's store. Implements RTR-40 to RTR-47.

import type { MessageId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "../Limits.ts";
import * as Transport from "../wire/Transport.ts";
import { makeBackoff, type BackoffLimits } from "./Backoff.ts";
import { makeIncoming } from "./Incoming.ts";
import { makeOutgoing, type SendOutcome } from "./Outgoing.ts";
import {
  openSession,
  type DisconnectReason,
  type Session,
  type SessionLimits,
  type SessionOptions,
} from "./Session.ts";

export type { Delivery, Gap, ReadyState } from "./Incoming.ts";
export type { SendOutcome } from "./Outgoing.ts";
export type { DisconnectReason } from "./Session.ts";

export interface ClientLimits extends SessionLimits, BackoffLimits {
  readonly clientInFlightMax: number;
}

export interface RouterClientOptions extends SessionOptions {
  readonly random: (byteCount: number) => Uint8Array;
  /** After every connection or attempt that ended, with what its socket threw; the next attempt follows by itself. */
  readonly onDisconnected: (reason: DisconnectReason, cause?: Error) => void;
  /** The connected Router begins to refuse what is sent as `unavailable` (false), or decides on it again. */
  readonly onTaking?: (taking: boolean) => void;
  /** Smaller bounds, for tests. */
  readonly limits?: Partial<ClientLimits>;
}

export interface RouterClient {
  readonly start: () => void;
  /**
   * Sends the finished text of an envelope, unchanged, after those sent before it. Resolves with the Router's verdict;
   * stays pending over disconnections and through `rate-limited` and `unavailable`, which are repeated in order. Texts
   * are held in memory until their verdict: a caller with a long outbox sends it page by page.
   */
  readonly send: (envelopeText: string, messageId: MessageId) => Promise<SendOutcome>;
  /** Everything up to this cursor is on the agent's own disk: the Router may forget it. */
  readonly ack: (cursor: number) => void;
  /** A delivery that was handed over could not be kept: it, and what followed, comes again on the next connection. */
  readonly refuse: () => void;
  /** Makes no further attempt; what is connected stays so. */
  readonly pause: () => void;
  /** Takes attempts up again, with one at once. */
  readonly resume: () => void;
  /** Whether a connection is up and ready. */
  readonly connected: boolean;
  readonly close: () => Promise<void>;
}

/** What does not pass by itself in a moment is met with the longest delay from the start. */
const slowReasons: ReadonlySet<DisconnectReason> = new Set([
  "superseded",
  "bad-card",
  "bad-signature",
  "unsupported-version",
  "wrong-router-key",
  "protocol-error",
  "delivery-failed",
]);

/** Throws `RangeError` for a URL that is neither `wss:` nor loopback. */
export const createRouterClient = (options: RouterClientOptions): RouterClient => {
  if (!Transport.isAllowedUrl(options.url)) {
    throw new RangeError("a Router is reached over wss, or over ws on loopback");
  }
  const limits: ClientLimits = { ...Limits, ...options.limits };
  const backoff = makeBackoff(options.random, limits);
  const outgoing = makeOutgoing(limits, options.random, options.onTaking);
  const incoming = makeIncoming(options);
  let session: Session | null = null;
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let paused = false;

  const connect = (): void => {
    if (paused) return;
    session = openSession(options, limits, {
      outgoing,
      incoming,
      onWorth: backoff.reset,
      onEnd: (reason, cause) => {
        session = null;
        if (!running) return;
        const said = cause === undefined ? {} : { message: cause.message };
        options.logger("info", "router disconnected", { reason, ...said });
        timer = setTimeout(connect, slowReasons.has(reason) ? backoff.slowest() : backoff.next());
        options.onDisconnected(reason, cause);
      },
    });
  };

  return {
    start: () => {
      if (running) return;
      running = true;
      connect();
    },
    send: outgoing.send,
    ack: incoming.acknowledge,
    refuse: incoming.refuse,
    pause: () => {
      paused = true;
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      if (!running || session !== null) return;
      clearTimeout(timer);
      connect();
    },
    get connected() {
      return session?.ready ?? false;
    },
    close: async () => {
      running = false;
      clearTimeout(timer);
      incoming.flush();
      await session?.close();
      outgoing.close();
    },
  };
};
