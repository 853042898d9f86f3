// What SQLite's result codes mean to a user of the log. A code that is not listed is our own mistake (a bad statement,
// a broken constraint) and stays the error that it is. The words are for the operator.

import { LogError } from "./LogError.ts";

/** Primary result codes: PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, NOLFS. */
const unavailable = new Set([3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 22]);
/** CORRUPT, NOTADB. */
const damaged = new Set([11, 26]);

/** What keeps a log from its work, in one word. */
export type LogFault = "full" | "read-only" | "locked" | "input-output" | "damaged" | "gone" | "unavailable";

const faults: Readonly<Record<number, LogFault>> = {
  5: "locked", // BUSY
  6: "locked", // LOCKED
  8: "read-only", // READONLY
  10: "input-output", // IOERR
  11: "damaged", // CORRUPT
  13: "full", // FULL
  15: "locked", // PROTOCOL: the locks of the write-ahead log
  26: "damaged", // NOTADB
};

/** What is the matter and what helps, where SQLite's own words say less. */
const explanations: Readonly<Record<number, string>> = {
  5: "another program holds it locked; end it",
  8: "it or its disk is read-only; make it writable",
  10: "the disk fails or is read-only; look at the system's log",
  13: "its disk is full; make room",
};

const resultCodeOf = (cause: unknown): number | null =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode & 0xff
    : null;

/** Whether another program holds the file. */
export const isLocked = (cause: unknown): boolean => resultCodeOf(cause) === 5;

/** The LogError for a fault of the file or the machine; null for anything else. */
export const faultOf = (cause: unknown): LogError | null => {
  if (cause instanceof LogError) return cause;
  const code = resultCodeOf(cause);
  if (!(cause instanceof Error) || code === null) return null;
  if (damaged.has(code)) return new LogError("damaged", "the log's file is not a sound database", cause);
  if (unavailable.has(code)) {
    const explanation = explanations[code];
    const words = explanation === undefined ? cause.message : `${cause.message}: ${explanation}`;
    return new LogError("unavailable", `the log's file: ${words}`, cause);
  }
  return null;
};

/** Runs `work`, turning faults of the file into LogErrors. */
export const guarded = <T>(work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    throw faultOf(cause) ?? cause;
  }
};

/** The word for whatever a use of the log threw. */
export const wordOf = (error: unknown): LogFault => {
  const cause = error instanceof LogError ? error.cause : error;
  const fault = faults[resultCodeOf(cause) ?? 0];
  if (fault !== undefined) return fault;
  const reason = error instanceof LogError ? error.reason : null;
  return reason === "damaged" || reason === "gone" ? reason : "unavailable";
};
