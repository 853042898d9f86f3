// Why a record, or evidence about one, was not believed. Closed: every check of VerifyRecord.ts has its reason here.

export type RecordReason =
  /** A hash, a repeated field or the record hash itself does not recompute. */
  | "inconsistent"
  /** The membership does not verify, or is not the conversation's. */
  | "membership"
  /** The record does not directly follow its predecessor. */
  | "position"
  /** An anchor that is not what its statements decide, or that does not belong where the record stands. */
  | "anchor"
  /** The author is no member, or used the post id before. */
  | "author"
  /** Too few signers, a signer that is no member, or an action certificate without its author. */
  | "threshold"
  /** A signature does not verify. */
  | "signature";

export class RecordError extends Error {
  override readonly name = "RecordError";
  readonly reason: RecordReason;
  /** Of the record in its chain, where a chain was verified. */
  readonly height: number | null;
  constructor(reason: RecordReason, message: string, height: number | null = null) {
    super(message);
    this.reason = reason;
    this.height = height;
  }
}
