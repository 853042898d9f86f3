// An agent's standing connection to its Router: says hello, keeps sends in order across reconnections, hands over
// deliveries one at a time, and never trusts the Router further than its signatures. Remembers nothing across a restart:
// envelopes and cursors live in the endpoint's store. Implements RTR-40 to RTR-47.

import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type {
  Ed25519Signature,
  MessageId,
  Opaque32,
  RouterInstanceId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer, Verifier } from "@social-harness/protocol/identity/Signing";
import * as Limits from "../Limits.ts";
import type { Logger } from "../Logger.ts";
import type { Envelope } from "../wire/Envelope.ts";
import type * as Frames from "../wire/Frames.ts";
import * as Transport from "../wire/Transport.ts";
import { makeBackoff } from "./Backoff.ts";
import { makeIncoming } from "./Incoming.ts";
import { makeOutgoing } from "./Outgoing.ts";
import { openSession, type Session } from "./Session.ts";

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
  readonly envelope: Envelope;
  readonly envelopeDigest: Opaque32;
}

export interface Gap {
  readonly fromCursor: number;
  readonly toCursor: number;
}

/**
 * `accepted`: the Router has it on disk. `rejected`: it never will take these bytes, except for `unavailable`, which
 * here only says that this client was closed first.
 */
export type SendOutcome =
  | { readonly kind: "accepted"; readonly lane: Opaque32; readonly sequence: number }
  | { readonly kind: "rejected"; readonly reason: Frames.RejectedReason };

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

export interface RouterClientOptions {
  /** `wss://...`, or `ws://` to loopback. */
  readonly url: string;
  /** The pinned key: the only one that this client talks to. */
  readonly routerKey: SigningKey;
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly random: (byteCount: number) => Uint8Array;
  readonly logger: Logger;
  /** After every (re)connection, before any delivery on it. */
  readonly onReady: (ready: ReadyState) => void;
  /**
   * Called in cursor order, the next one only when this one's promise has resolved. Says nothing to the Router: `ack`
   * does. A new connection repeats what was not acknowledged, so cursors that the endpoint has behind it may come again.
   */
  readonly onDeliver: (delivery: Delivery) => void | Promise<void>;
  readonly onGap: (gap: Gap) => void | Promise<void>;
  readonly onDisconnected: (reason: DisconnectReason) => void;
  /** Certificate authorities in PEM, beside the system's. */
  readonly certificateAuthority?: string;
  /** Smaller bounds, for tests. */
  readonly limits?: Partial<ClientLimits>;
}

export interface ClientLimits {
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  readonly heartbeatMs: number;
  readonly helloMs: number;
  readonly clientInFlightMax: number;
}

export interface RouterClient {
  readonly start: () => void;
  /**
   * Sends the finished text of an envelope, unchanged, after those sent before it. Resolves with the Router's verdict;
   * stays pending over disconnections and through `rate-limited` and `unavailable`, which are repeated in order.
   */
  readonly send: (envelopeText: string, messageId: MessageId) => Promise<SendOutcome>;
  /** Everything up to this cursor is on the agent's own disk: the Router may forget it. */
  readonly ack: (cursor: number) => void;
  /** Whether a connection is up and ready. */
  readonly connected: boolean;
  readonly close: () => Promise<void>;
}

/** Refusals that do not pass by themselves are met with the longest delay from the start. */
const slowReasons: ReadonlySet<DisconnectReason> = new Set([
  "superseded",
  "bad-card",
  "bad-signature",
  "unsupported-version",
  "wrong-router-key",
]);

/** Throws `RangeError` for a URL that is neither `wss:` nor loopback. */
export const createRouterClient = (options: RouterClientOptions): RouterClient => {
  if (!Transport.isAllowedUrl(options.url)) {
    throw new RangeError("a Router is reached over wss, or over ws on loopback");
  }
  const limits: ClientLimits = { ...Limits, ...options.limits };
  const backoff = makeBackoff(options.random, limits);
  const outgoing = makeOutgoing(limits, options.random);
  const incoming = makeIncoming(options);
  let session: Session | null = null;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  const connect = (): void => {
    session = openSession(options, limits, {
      outgoing,
      incoming,
      onReady: () => backoff.reset(),
      onEnd: (reason) => {
        session = null;
        if (!running) return;
        options.logger("info", "router disconnected", { reason });
        timer = setTimeout(connect, slowReasons.has(reason) ? backoff.slowest() : backoff.next());
        options.onDisconnected(reason);
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
