// Why the state folder cannot be used as it is. Every message says what is wrong and the next step; none says what a
// secret file holds.

export type StateReason =
  /** A file or folder that others may read or write, or that belongs to somebody else. */
  | "permissions"
  /** What the step needs is not there yet. */
  | "missing"
  /** It is there already and is never overwritten. */
  | "exists"
  /** A file does not hold what it should. */
  | "malformed"
  /** A file of another version of this program. */
  | "other-version"
  /** A file that counts only for a daemon that was started to take it. */
  | "not-allowed"
  /** Another daemon holds the folder. */
  | "held"
  /** The disk refused: full, read-only, gone. */
  | "unavailable";

export class StateError extends Error {
  override readonly name = "StateError";
  readonly reason: StateReason;
  /** What is wrong and why, without the next step. */
  readonly what: string;
  /** The next step, with neither a capital nor a full stop. */
  readonly next: string;
  constructor(reason: StateReason, what: string, next: string, options?: ErrorOptions) {
    super(`${what}: ${next}`, options);
    this.reason = reason;
    this.what = what;
    this.next = next;
  }
}

interface Remedy {
  readonly why: string;
  readonly next: string;
}

/** What a disk that refuses is asked for, by the code of the system call. */
const remedies: Readonly<Record<string, Remedy>> = {
  ENOSPC: { why: "the disk is full", next: "make room and start again" },
  EDQUOT: { why: "its user's share of the disk is used up", next: "make room and start again" },
  EROFS: { why: "the disk is read-only", next: "make it writable and start again" },
  EIO: { why: "the disk fails", next: "look at the system's log" },
  EACCES: { why: "it may not be written by this user", next: "check its owner and mode" },
};

/** A step on the disk that failed with `error`: what could not be done, why, and what to do. */
export const unavailable = (what: string, error: unknown): StateError => {
  const code = codeOf(error);
  const known = code !== undefined && Object.hasOwn(remedies, code) ? remedies[code] : undefined;
  const why = known === undefined ? (code === undefined ? "" : ` (${code})`) : `: ${known.why}`;
  return new StateError("unavailable", `${what}${why}`, known?.next ?? "check the disk", { cause: error });
};

/** The code of a failed system call, `EEXIST` for example. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
