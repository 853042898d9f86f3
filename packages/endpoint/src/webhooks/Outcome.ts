// What one callback came to, in three vocabularies: what the life cycle does about it, the draft's word for a subscriber, and
// the owner's word for the log. Never what the receiver said. Implements ING-82, ING-94 and ING-105.

import type { CallbackAnswer, FailureCategory } from "../callbacks/CallbackClient.ts";
import type { Category, DeliveryError } from "../operations/EventSubscription.ts";

const errors: Readonly<Record<FailureCategory, DeliveryError>> = {
  "address-refused": "connection_refused",
  "dns-failed": "connection_refused",
  "connection-refused": "connection_refused",
  "connection-lost": "connection_refused",
  timeout: "timeout",
  "tls-failed": "tls_error",
  // The draft's nearest word: somebody answered there, and it was no service.
  "answer-malformed": "http_5xx",
};

export type Outcome =
  | { readonly kind: "received" }
  | { readonly kind: "refused"; readonly error: DeliveryError }
  | { readonly kind: "failed"; readonly error: DeliveryError; readonly retryAfterMs: number | null };

/** A redirect counts as a refusal of the receiver's: it is never followed, and the draft has no word of its own for it. */
const errorOfStatus = (status: number): DeliveryError => (status >= 500 ? "http_5xx" : "http_4xx");

export const of = (answer: CallbackAnswer): Outcome => {
  if (answer.kind === "failed") return { kind: "failed", error: errors[answer.category], retryAfterMs: null };
  const { status, retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { kind: "received" };
  const error = errorOfStatus(status);
  return status === 410 || status === 413
    ? { kind: "refused", error }
    : { kind: "failed", error, retryAfterMs };
};

export const categoryOf = (answer: CallbackAnswer): Category => {
  if (answer.kind === "failed") return answer.category;
  const { kind } = of(answer);
  return kind === "failed" ? "status" : kind;
};

/** 2 to 5; null when nothing was answered. */
export const statusClassOf = (answer: CallbackAnswer): number | null =>
  answer.kind === "answered" ? Math.floor(answer.status / 100) : null;
