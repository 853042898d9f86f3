// How a callback can fail before there is an answer, as one closed list. Carries no URL, no address and no word of the
// receiver's. Implements ING-76.

export type FailureCategory =
  /** The host is, or one of its addresses is, none that a callback may go to. */
  | "address-refused"
  /** The name has no address, or no name server told one. */
  | "dns-failed"
  /** Nobody listens there, or the network knows no way. */
  | "connection-refused"
  /** The deadline passed before the answer was complete. */
  | "timeout"
  /** No encrypted connection to the host by that name. */
  | "tls-failed"
  /** It ended before the answer was complete. */
  | "connection-lost"
  /** What came back is not HTTP. */
  | "answer-malformed";

export class CallbackFailure extends Error {
  override readonly name = "CallbackFailure";
  readonly category: FailureCategory;
  constructor(category: FailureCategory, options?: ErrorOptions) {
    super(`the callback failed: ${category}`, options);
    this.category = category;
  }
}
