// What keeps a store from doing its work, in a closed list, with the words for its owner: what is the matter, what happens
// meanwhile and what helps. Judged by SQLite's result code, and by the disk itself where that code leaves it open.
// Implements RUN-110.

import { accessSync, constants, statfsSync } from "node:fs";
import { dirname } from "node:path";

const all = ["full", "read-only", "locked", "damaged", "input-output", "gone", "unavailable"] as const;
export type StoreFault = (typeof all)[number];

export const is = (word: string): word is StoreFault => all.some((fault) => fault === word);

/** With less room than this the disk is as good as full: one turn may need more. */
export const roomBytesMin = 1_048_576;

export const isSqliteError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";

/** SQLite's primary result code; 0 for an error that has none. */
export const resultCodeOf = (error: unknown): number =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : 0;

const faults: Readonly<Record<number, StoreFault>> = {
  5: "locked", // BUSY
  6: "locked", // LOCKED
  8: "read-only", // READONLY
  10: "input-output", // IOERR
  11: "damaged", // CORRUPT
  13: "full", // FULL
  15: "locked", // PROTOCOL: the locks of the write-ahead log
  26: "damaged", // NOTADB
};

export const isLocked = (error: unknown): boolean => faults[resultCodeOf(error)] === "locked";

/** Whether the folder's disk has room; true where nobody can tell. */
export const hasRoom = (path: string): boolean => {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize >= roomBytesMin;
  } catch {
    return true;
  }
};

/** Whether the file's disk takes no writes from anybody. */
export const isReadOnly = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EROFS";
  }
};

/** What an error of the store in that file comes from. A full and a read-only disk both show themselves as other errors too. */
export const of = (error: unknown, path: string): StoreFault => {
  const fault = faults[resultCodeOf(error)] ?? "unavailable";
  if (fault === "damaged" || fault === "locked") return fault;
  if (isReadOnly(path)) return "read-only";
  return fault === "full" || hasRoom(path) ? fault : "full";
};

/** For the owner: what is the matter, and what helps; neither has a full stop. */
export const words = (fault: StoreFault): { readonly what: string; readonly next: string } => {
  switch (fault) {
    case "full":
      return {
        what: "the disk of the state folder is full",
        next: "make room, everything goes on by itself",
      };
    case "read-only":
      return {
        what: "the disk of the state folder is read-only",
        next: "make it writable, everything goes on by itself",
      };
    case "locked":
      return {
        what: "another program holds endpoint.sqlite locked",
        next: "end it, everything goes on by itself",
      };
    case "damaged":
      return {
        what: "endpoint.sqlite is damaged or cannot be read",
        next: "stop the daemon, run `social-harness verify --full`, restore it from a backup; nothing was deleted",
      };
    case "input-output":
      return {
        what: "the disk of the state folder fails",
        next: "look at the system's log; everything goes on by itself when it works again",
      };
    case "gone":
      return {
        what: "a file of the state folder was deleted, moved or replaced under the running daemon, which writes nothing more",
        next: "stop the daemon, put the folder back as it was or restore a backup, and start it again",
      };
    case "unavailable":
      return {
        what: "the store cannot be used",
        next: "check the disk, the permissions and who else has it open",
      };
  }
};

export const explain = (fault: StoreFault): string => {
  const { what, next } = words(fault);
  return `${what}: ${next}`;
};
