// One question to a checker, by whatever way it is asked.

/** Resolves with the answer's bytes; rejects with `CheckFailure`, or with anything once `signal` has ended it. */
export type Ask = (question: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>;
