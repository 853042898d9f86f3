// Files that a process has open, looked at by their paths: whether each still leads to the file that was there when it was
// opened. A file that was deleted, moved or replaced takes writes as before, and keeps none. Implements RUN-322.

import { statSync } from "node:fs";
import { codeOf } from "../state/StateError.ts";

export interface OpenFiles {
  /** The first path that leads to nothing any more, or to another file; null while all is as it was. */
  readonly lost: () => string | null;
}

/** Null: there is nothing. What cannot be looked at at this moment may still be there, and whoever uses it finds out. */
const fileAt = (path: string): string | null | "unseen" => {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
  } catch (error) {
    return codeOf(error) === "ENOTDIR" ? null : "unseen";
  }
};

/** The files that stand at `paths` now; one that is not there is not watched. */
export const watch = (paths: ReadonlyArray<string>): OpenFiles => {
  const files = paths.map((path) => [path, fileAt(path)] as const).filter(([, file]) => file !== null);
  const isLost = ([path, file]: readonly [string, string | null]): boolean => {
    const found = fileAt(path);
    return found !== file && found !== "unseen";
  };
  return { lost: () => files.find(isLost)?.[0] ?? null };
};
