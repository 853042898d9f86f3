// The one error of every decoder. It names the rule that was broken and where, never the submitted value.

/** Which step of the boundary decoder refused the bytes (FND-01). */
export type DecodeReason =
  | "too-large"
  | "not-utf8"
  | "not-json"
  | "repeated-name"
  | "too-deep"
  | "lone-surrogate"
  | "not-canonical"
  | "schema";

/** A place in a refused value: property names and array indices, empty for the root. */
export interface DecodeIssue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

export class DecodeError extends Error {
  override readonly name = "DecodeError";
  readonly reason: DecodeReason;
  readonly issues: ReadonlyArray<DecodeIssue>;
  constructor(reason: DecodeReason, message: string, issues: ReadonlyArray<DecodeIssue> = []) {
    super(message);
    this.reason = reason;
    this.issues = issues;
  }
}
