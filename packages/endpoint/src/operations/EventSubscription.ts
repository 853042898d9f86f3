// The webhook subscription that carries events to the runtime, as its subscriber, its owner and the push stream see it. There is
// at most one, so the owner needs no name for it; its callback URL and secret are in no result. Implements MGT-76 to MGT-78.

import type { FailureCategory } from "../callbacks/CallbackClient.ts";
import type { CallbackUrl } from "../callbacks/CallbackUrl.ts";

export const states = ["active", "retrying", "suspended", "rejected", "expired"] as const;

/** Why a callback failed, in the Events draft's closed words: all that a subscriber's data may say. */
type DraftError =
  "connection_refused" | "timeout" | "tls_error" | "http_4xx" | "http_5xx" | "challenge_failed";

/** Why a callback failed, to the owner: the draft's words, and three for what those do not tell apart. */
export const errors = [
  "connection_refused",
  "timeout",
  "tls_error",
  "http_4xx",
  "http_5xx",
  "challenge_failed",
  /** The host leads to an address where no callback goes; nothing was sent. */
  "address_refused",
  /** The host's name leads nowhere; nothing was sent. */
  "dns_failed",
  /** A redirect, and none is followed. */
  "http_3xx",
] as const;
export type DeliveryError = (typeof errors)[number];

/** The draft's nearest word. */
export const draftErrorOf = (error: DeliveryError): DraftError => {
  switch (error) {
    case "address_refused":
    case "dns_failed":
      return "connection_refused";
    case "http_3xx":
      return "http_4xx";
    case "connection_refused":
    case "timeout":
    case "tls_error":
    case "http_4xx":
    case "http_5xx":
    case "challenge_failed":
      return error;
  }
};

export type EventSubscriptionStatus =
  | { readonly kind: "none" }
  | {
      readonly kind: "subscription";
      readonly subscriptionId: string;
      /** The event's name. */
      readonly event: string;
      readonly state: (typeof states)[number];
      /** The mode in which nothing is delivered, whatever the state; null in the one that delivers. */
      readonly resting: "trusted-local" | null;
      /** UTC; when the lease ends unless it is refreshed. */
      readonly refreshBefore: string;
      /** UTC of the last receipt, or null. */
      readonly lastDeliveryAt: string | null;
      /** Of the delivery that is due now; null and 0 when none has failed. */
      readonly lastError: DeliveryError | null;
      /** The HTTP status of that failure; null when nothing was answered. */
      readonly lastStatus: number | null;
      readonly failedSince: string | null;
      readonly failedAttempts: number;
      /** UTC of the next attempt, which waits for its time; null when there is none to wait for. */
      readonly nextAttemptAt: string | null;
      /** Unread items of the inbox, the due one among them. */
      readonly waitingItems: number;
    };

/** `status`: an answer that is neither a receipt nor a refusal for good. `challenge-failed`: a 2xx without the echo. */
export type Category = "received" | "refused" | "status" | "challenge-failed" | FailureCategory;

/** One POST to the callback: neither where it went, nor under which secret, nor what either side said. */
export interface Attempt {
  /** UTC. */
  readonly at: string;
  readonly purpose: "delivery" | "challenge" | "test";
  readonly category: Category;
  /** The HTTP status; null when nothing was answered. */
  readonly status: number | null;
  /** Of the event that was delivered; null for a challenge. */
  readonly eventId: string | null;
  readonly durationMs: number;
}

export type RevokeResult = { readonly kind: "revoked" } | { readonly kind: "none" };

/**
 * Neither a terminal rejection nor an ended lease can be resumed: the one needs a revocation, the other a refresh. Where a
 * registration rests, nothing would come of it.
 */
export type ResumeResult =
  | { readonly kind: "resumed" }
  | { readonly kind: "rejected" }
  | { readonly kind: "expired" }
  | { readonly kind: "resting" }
  | { readonly kind: "none" };

/** The owner's tools. */
export interface EventSubscriptions {
  readonly eventSubscriptionStatus: () => EventSubscriptionStatus;
  readonly revokeEventSubscription: () => Promise<RevokeResult>;
  readonly resumeEventSubscription: () => Promise<ResumeResult>;
}

/** A signed challenge to the callback, which is no delivery and changes nothing. */
export type TestResult =
  | { readonly kind: "passed"; readonly durationMs: number }
  | {
      readonly kind: "failed";
      readonly error: DeliveryError;
      readonly category: Category;
      readonly status: number | null;
      readonly durationMs: number;
    }
  | { readonly kind: "none" };

/** What the owner may ask beside the tools. */
export interface EventDiagnostics {
  /** The newest first. */
  readonly webhookAttempts: () => ReadonlyArray<Attempt>;
  readonly testWebhook: () => Promise<TestResult>;
}

export interface SubscribeInput {
  readonly url: CallbackUrl;
  /** `whsec_` and base64, as it was checked. */
  readonly secret: string;
  /** What the subscriber asked for; null for as long as it can be. */
  readonly ttlMs: number | null;
}

/** How deliveries have gone since the last receipt, for the subscriber and in the draft's words. Times are UTC. */
export interface DeliveryStatus {
  readonly active: boolean;
  readonly lastDeliveryAt: string | null;
  readonly lastError: DraftError | null;
  readonly failedSince?: string;
}

export type SubscribeResult =
  | {
      readonly kind: "subscribed";
      readonly id: string;
      /** UTC. */
      readonly refreshBefore: string;
      /** Of a refresh alone. */
      readonly deliveryStatus?: DeliveryStatus;
    }
  /** Another callback, or another principal's, is registered; its owner must revoke it first. */
  | { readonly kind: "occupied" }
  /** The callback refused a delivery for good; the registration must be ended first. */
  | { readonly kind: "rejected"; readonly error: DeliveryError }
  | { readonly kind: "unverified"; readonly error: DeliveryError }
  /** Revoked or unsubscribed while the callback was being verified. */
  | { readonly kind: "ended" }
  /** A later call for the same subscription was granted while this one's callback was asked. */
  | { readonly kind: "superseded" }
  | { readonly kind: "too-many-challenges"; readonly max: number };

/** The subscriber's side. A principal is whom a credential stands for. */
export interface EventConsumers {
  readonly subscribe: (principal: string, input: SubscribeInput) => Promise<SubscribeResult>;
  /** Ends the principal's subscription of that URL. Where there is none, nothing happens. */
  readonly unsubscribe: (principal: string, url: CallbackUrl) => void;
  /** Whether a webhook owns the endpoint's events now. */
  readonly isConsumedByWebhook: () => boolean;
  /** Calls `listener` in the step in which a webhook became the consumer. Returns the function that ends it. */
  readonly onConsumed: (listener: () => void) => () => void;
}
