// What stands on the disk where a log is to be opened. SQLite takes a file that is absent or empty for a new one and deletes
// the journals beside it; so what is left of a log whose file is lost is refused before SQLite sees it. Implements RUN-324.

import { closeSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { LogError } from "./LogError.ts";

/** Of one page, the least that a database has. */
const bytesMin = 512;
/** Where a rollback journal says, in four bytes, how many pages the file had before. */
const pagesAt = 16;

const sizeOf = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.size ?? null;

/** Whether the journal is of a file that had something in it: a first start that was killed leaves one of a file that had not. */
const holdsPages = (journal: string): boolean => {
  const pages = Buffer.alloc(4);
  const descriptor = openSync(journal, "r");
  try {
    readSync(descriptor, pages, 0, pages.length, pagesAt);
  } finally {
    closeSync(descriptor);
  }
  return pages.readUInt32BE() > 0;
};

/** What only a file that is gone can have written, or null. */
const leftBeside = (file: string): string | null => {
  const [log, journal] = [`${file}-wal`, `${file}-journal`];
  if ((sizeOf(log) ?? 0) > 0) return log;
  return (sizeOf(journal) ?? 0) > 0 && holdsPages(journal) ? journal : null;
};

/** Throws `LogError` with `damaged`, or what the file system says of a path that cannot be looked at. Touches nothing. */
export const demandWhole = (path: string): void => {
  const size = sizeOf(path);
  if (size !== null && size >= bytesMin) return;
  // SQLite keeps its journals beside the file itself, wherever a link to it stands.
  const left = leftBeside(size === null ? path : realpathSync(path));
  if (left === null && (size ?? 0) === 0) return;
  const how = size === null ? "missing" : size === 0 ? "empty" : "cut off";
  const beside = left === null ? "" : `, but ${basename(left)} beside it holds what was written to it`;
  throw new LogError(
    "damaged",
    `${basename(path)} is ${how}${beside}: keep both as they are, and put the file back that belongs there or move what is ` +
      "left away; nothing has been changed or deleted",
  );
};
