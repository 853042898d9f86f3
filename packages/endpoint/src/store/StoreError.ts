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
  constructor(reason: StoreReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
