// The files that a log has open, looked at by their paths: whether each still leads to the file that was there when it was
// opened. One that was deleted, moved or replaced takes writes as before, and keeps none. Implements RUN-335.

import { statSync } from "node:fs";
import { basename } from "node:path";
import { LogError } from "./LogError.ts";
import * as Limits from "./Limits.ts";

export interface OpenFiles {
  /** Throws `LogError` with `gone` when one is not where it was. Looks at most once in a while. */
  readonly demandPlace: () => void;
  readonly close: () => void;
}

/** Null: there is nothing. What cannot be looked at at this moment may still be there, and whoever uses it finds out. */
const fileAt = (path: string): string | null | "unseen" => {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOTDIR" ? null : "unseen";
  }
};

/** The database at `path`, its companions and the files `beside`, as they stand there now. */
export const watch = (path: string, beside: ReadonlyArray<string>): OpenFiles => {
  const files = [path, `${path}-wal`, `${path}-shm`, ...beside]
    .map((each) => [each, fileAt(each)] as const)
    .filter(([, file]) => file !== null);
  let lost: string | null = null;
  let resting: NodeJS.Timeout | undefined;

  const look = (): string | null => {
    const isLost = ([each, file]: readonly [string, string | null]): boolean => {
      const found = fileAt(each);
      return found !== file && found !== "unseen";
    };
    return files.find(isLost)?.[0] ?? null;
  };

  return {
    demandPlace: () => {
      if (resting === undefined) {
        lost = look();
        resting = setTimeout(() => (resting = undefined), Limits.placeLookMs);
        resting.unref();
      }
      if (lost === null) return;
      throw new LogError(
        "gone",
        `${basename(lost)} is not the file that was opened: it was deleted, moved or replaced under the running service, which writes nothing more`,
      );
    },
    close: () => clearTimeout(resting),
  };
};
