// Why a store cannot be used as it is. Every message says what is wrong and what to do; nothing has been changed or deleted.

export type StoreReason =
  /** A newer program wrote it. */
  | "newer-schema"
  /** An older program wrote it, and it is only read. */
  | "older-schema"
  /** Its tables are those of no released version. */
  | "unknown-schema"
  | "corrupt"
  | "unavailable";

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly reason: StoreReason;
  /** What is wrong and why, without the next step. */
  readonly what: string;
  /** The next step, with neither a capital nor a full stop. */
  readonly next: string;
  constructor(reason: StoreReason, what: string, next: string, options?: ErrorOptions) {
    super(`${what}: ${next}`, options);
    this.reason = reason;
    this.what = what;
    this.next = next;
  }
}
