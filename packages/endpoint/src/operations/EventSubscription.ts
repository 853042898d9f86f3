// The webhook subscription that carries events to the runtime, as its subscriber, its owner and the push stream see it. There is
// at most one, so the owner needs no name for it; its callback URL and secret are in no result. Implements MGT-76 to MGT-78.

import type { FailureCategory } from "../callbacks/CallbackClient.ts";
import type { CallbackUrl } from "../callbacks/CallbackUrl.ts";

export const states = ["active", "retrying", "suspended", "rejected", "expired"] as const;

/** Why the last delivery failed, in the Events draft's words; never what the receiver answered. */
export const errors = [
  "connection_refused",
  "timeout",
  "tls_error",
  "http_4xx",
  "http_5xx",
  "challenge_failed",
] as const;
export type DeliveryError = (typeof errors)[number];

export type EventSubscriptionStatus =
  | { readonly kind: "none" }
  | {
      readonly kind: "subscription";
      readonly subscriptionId: string;
      /** The event's name. */
      readonly event: string;
      readonly state: (typeof states)[number];
      /** UTC; when the lease ends unless it is refreshed. */
      readonly refreshBefore: string;
      /** UTC of the last receipt, or null. */
      readonly lastDeliveryAt: string | null;
      /** Of the delivery that is due now; null and 0 when none has failed. */
      readonly lastError: DeliveryError | null;
      readonly failedSince: string | null;
      readonly failedAttempts: number;
    };

/** `status`: an answer that is neither a receipt nor a refusal for good. `challenge-failed`: a 2xx without the echo. */
export type Category = "received" | "refused" | "status" | "challenge-failed" | FailureCategory;

/** One POST to the callback: neither where it went, nor under which secret, nor what either side said. */
export interface Attempt {
  /** UTC. */
  readonly at: string;
  readonly purpose: "delivery" | "challenge" | "test";
  readonly category: Category;
  /** 2 to 5; null when nothing was answered. */
  readonly statusClass: number | null;
  readonly durationMs: number;
}

export type RevokeResult = { readonly kind: "revoked" } | { readonly kind: "none" };

/** Neither a terminal rejection nor an ended lease can be resumed: the one needs a revocation, the other a refresh. */
export type ResumeResult =
  | { readonly kind: "resumed" }
  | { readonly kind: "rejected" }
  | { readonly kind: "expired" }
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
      readonly statusClass: number | null;
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

/** How deliveries have gone since the last receipt, for the subscriber. Times are UTC. */
export interface DeliveryStatus {
  readonly active: boolean;
  readonly lastDeliveryAt: string | null;
  readonly lastError: DeliveryError | null;
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
  /** The callback refused a delivery for good; the owner must revoke the registration first. */
  | { readonly kind: "rejected"; readonly error: DeliveryError }
  | { readonly kind: "unverified"; readonly error: DeliveryError }
  /** Revoked or unsubscribed while the callback was being verified. */
  | { readonly kind: "ended" }
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
