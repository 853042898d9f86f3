// What one callback came to, in three vocabularies: what the life cycle does about it, the word for whoever asks why, and the
// owner's word for the log. Never what the receiver said. Implements ING-82, ING-94, ING-105 and ING-205.

import type { CallbackAnswer, FailureCategory } from "../callbacks/CallbackClient.ts";
import type { Category, DeliveryError } from "../operations/EventSubscription.ts";

const errors: Readonly<Record<FailureCategory, DeliveryError>> = {
  "address-refused": "address_refused",
  "dns-failed": "dns_failed",
  "connection-refused": "connection_refused",
  "connection-lost": "connection_refused",
  timeout: "timeout",
  "tls-failed": "tls_error",
  // The draft's nearest word: somebody answered there, and it was no service.
  "answer-malformed": "http_5xx",
};

export type Outcome =
  | { readonly kind: "received" }
  | { readonly kind: "refused"; readonly error: DeliveryError; readonly status: number }
  | {
      readonly kind: "failed";
      readonly error: DeliveryError;
      readonly status: number | null;
      readonly retryAfterMs: number | null;
    };

const errorOfStatus = (status: number): DeliveryError => {
  if (status >= 500) return "http_5xx";
  return status >= 400 ? "http_4xx" : "http_3xx";
};

export const of = (answer: CallbackAnswer): Outcome => {
  if (answer.kind === "failed") {
    return { kind: "failed", error: errors[answer.category], status: null, retryAfterMs: null };
  }
  const { status, retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { kind: "received" };
  const error = errorOfStatus(status);
  return status === 410 || status === 413
    ? { kind: "refused", error, status }
    : { kind: "failed", error, status, retryAfterMs };
};

export const categoryOf = (answer: CallbackAnswer): Category => {
  if (answer.kind === "failed") return answer.category;
  const { kind } = of(answer);
  return kind === "failed" ? "status" : kind;
};
