// What an owner sees and does of the webhook subscription that carries events to the runtime. There is at most one, so it
// needs no name in any input; its callback URL and secret are in no result. Implements MGT-76 to MGT-78.

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
      readonly lastError: (typeof errors)[number] | null;
      readonly failedSince: string | null;
      readonly failedAttempts: number;
    };

export type RevokeResult = { readonly kind: "revoked" } | { readonly kind: "none" };

/** Neither a terminal rejection nor an ended lease can be resumed: the one needs a revocation, the other a refresh. */
export type ResumeResult =
  | { readonly kind: "resumed" }
  | { readonly kind: "rejected" }
  | { readonly kind: "expired" }
  | { readonly kind: "none" };

export interface EventSubscriptions {
  readonly eventSubscriptionStatus: () => EventSubscriptionStatus;
  readonly revokeEventSubscription: () => Promise<RevokeResult>;
  readonly resumeEventSubscription: () => Promise<ResumeResult>;
}

/** Of an endpoint that delivers to no webhook. */
export const none: EventSubscriptions = {
  eventSubscriptionStatus: () => ({ kind: "none" }),
  revokeEventSubscription: async () => ({ kind: "none" }),
  resumeEventSubscription: async () => ({ kind: "none" }),
};
