// What stands on the disk where a store is to be opened. SQLite takes a file that is absent or empty for a new one and
// deletes the logs beside it, even when it is opened for reading alone; so whoever opens a store looks here first.
// Implements RUN-320.

import { closeSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { StoreError } from "./StoreError.ts";

/** Of one page, the least that a database has. */
const bytesMin = 512;

/** A path that cannot be looked at cannot be opened either, and the opening says why. */
const sizeOf = (path: string): number | null => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? null;
  } catch {
    return null;
  }
};

/** Where a rollback journal says, in four bytes, how many pages the file had before. */
const pagesAt = 16;

/** Whether the journal is of a file that had something in it: a first start that was killed leaves one of a file that had not. */
const holdsPages = (journal: string): boolean => {
  const pages = Buffer.alloc(4);
  try {
    const descriptor = openSync(journal, "r");
    try {
      readSync(descriptor, pages, 0, pages.length, pagesAt);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return true;
  }
  return pages.readUInt32BE() > 0;
};

/** The log beside the file that only a file which is gone can have written, or null. */
const leftBeside = (path: string): string | null => {
  const [log, journal] = [`${path}-wal`, `${path}-journal`];
  if ((sizeOf(log) ?? 0) > 0) return log;
  return (sizeOf(journal) ?? 0) > 0 && holdsPages(journal) ? journal : null;
};

/** SQLite keeps its logs beside the file itself, wherever a link to it stands. */
const followed = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

/** Whether there is no store yet: a first start writes the file's header before anything else is beside it. */
export const isEmpty = (path: string): boolean => (sizeOf(path) ?? 0) === 0;

/** Refuses what is left of a store whose file is lost or cut off. Throws `StoreError`; touches nothing. */
export const demandWhole = (path: string): void => {
  const file = followed(path);
  const size = sizeOf(file);
  if (size !== null && size >= bytesMin) return;
  const left = leftBeside(file);
  if (left === null && (size ?? 0) === 0) return;
  const how = size === null ? "missing" : size === 0 ? "empty" : "cut off";
  const beside = left === null ? "" : `, but ${basename(left)} beside it holds what was written to it`;
  throw new StoreError(
    "corrupt",
    `${basename(path)} is ${how}${beside}`,
    "keep the folder as it is, and put the file back that belongs there or restore a backup into another folder; nothing has " +
      "been changed or deleted",
  );
};
