// Copies of SQLite files whose process is not running: the file with the log that belongs to it, so that what was committed
// last is in the copy although nobody closed the file.

import { copyFileSync, existsSync, rmSync } from "node:fs";

const parts = ["", "-wal", "-shm"];

/** Removes a database with everything that belongs to it. */
export const remove = (path: string): void => {
  for (const part of parts) rmSync(path + part, { force: true });
};

/** Makes `to` what `from` is, whatever it was before. */
export const copy = (from: string, to: string): void => {
  remove(to);
  for (const part of parts) if (existsSync(from + part)) copyFileSync(from + part, to + part);
};
