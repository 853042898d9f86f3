// The closed errors of the Registry client. What a Registry says in a well-formed answer ("name_taken", "not_found") is
// a result and never an error.

import type { ErrorCode } from "../Wire.ts";

/**
 * unavailable: no answer before the deadline, or the Registry said that it cannot; asking again is right.
 * overloaded: asked too often; ask again after `retryAfterSeconds`.
 * refused: the Registry refused the request itself, with `code`; asking again is of no use.
 * wrong-registry-key: what answers says that it is another Registry than the one of the pinned key.
 * invalid-answer: the answer is not what a correct Registry of the pinned key can say; nothing of it was believed.
 * aborted: the caller's signal ended the call. Whether a registration was accepted is unknown; repeat it exactly.
 */
export type RegistryErrorReason =
  "unavailable" | "overloaded" | "refused" | "wrong-registry-key" | "invalid-answer" | "aborted";

export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly reason: RegistryErrorReason;
  readonly code: ErrorCode | null;
  readonly retryAfterSeconds: number | null;
  constructor(
    reason: RegistryErrorReason,
    message: string,
    details: {
      readonly code?: ErrorCode;
      readonly retryAfterSeconds?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.code = details.code ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}
