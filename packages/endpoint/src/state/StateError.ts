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
  /** A file that counts only for a daemon that was started to take it, or a place where nothing of the kind belongs. */
  | "not-allowed"
  /** Another daemon holds the folder. */
  | "held"
  /** The disk refused: full, read-only, gone. */
  | "unavailable";

export class StateError extends Error {
  override readonly name = "StateError";
  readonly reason: StateReason;
  constructor(reason: StateReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What a disk that refuses is asked for, by the code of the system call. */
const remedies: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: make room and start again",
  EDQUOT: "its user's share of the disk is used up: make room and start again",
  EROFS: "the disk is read-only: make it writable and start again",
  EIO: "the disk fails: look at the system's log",
  EACCES: "it may not be written by this user: check its owner and mode",
};

/** Why a step on the disk failed and what to do, behind a colon; the code itself where nothing better is known. */
export const remedyOf = (error: unknown): string => {
  const code = codeOf(error);
  if (code === undefined) return "check the disk";
  return Object.hasOwn(remedies, code) ? (remedies[code] as string) : `check the disk (${code})`;
};

/** The code of a failed system call, `EEXIST` for example. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
