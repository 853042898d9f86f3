// What SQLite's result codes mean to a user of the log. A code that is not listed is our own mistake (a bad statement,
// a broken constraint) and stays the error that it is.

import { LogError } from "./LogError.ts";

/** Primary result codes: PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, NOLFS. */
const unavailable = new Set([3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 22]);
/** CORRUPT, NOTADB. */
const damaged = new Set([11, 26]);

/** The LogError for a fault of the file or the machine; null for anything else. */
export const faultOf = (cause: unknown): LogError | null => {
  if (cause instanceof LogError) return cause;
  if (!(cause instanceof Error) || !("errcode" in cause) || typeof cause.errcode !== "number") return null;
  const code = cause.errcode & 0xff;
  if (damaged.has(code)) return new LogError("damaged", "the log's file is not a sound database", cause);
  if (unavailable.has(code)) return new LogError("unavailable", `the log's file: ${cause.message}`, cause);
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
