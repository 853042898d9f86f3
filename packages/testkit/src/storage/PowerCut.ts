// A disk of which the power can be cut under a process of its own: `power.c`, compiled for this machine, keeps what would
// undo each change that is not synced, and a cut undoes it. Of the changes to one file that were not synced the first few
// may have reached the disk, as on a real one. Takes Linux and a C compiler; without them `prepare` says so.

import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Environment } from "../faults/Process.ts";
import type { Random } from "../simulation/Random.ts";

const source = fileURLToPath(new URL("./power.c", import.meta.url));

/** The disk of one process. */
export interface Supply {
  readonly environment: Environment;
  /** After the process was killed: undoes what it had not synced, and says how many changes that were. */
  readonly cut: () => number;
}

/** A supply for the process whose files are under `folder`; `random` decides what reached the disk unsynced. */
export type Grid = (name: string, folder: string, random: Random) => Supply;

/** How often nothing at all of what was not synced has reached the disk. */
const allLost = 0.5;

interface Change {
  readonly size: number;
  readonly at: number;
  readonly old: Buffer;
}

const headBytes = 24;

/** A kill may have ended the last one halfway: what it was for had not been done then. */
const changesOf = (journal: Buffer): ReadonlyArray<Change> => {
  const changes: Array<Change> = [];
  for (let from = 0; from + headBytes <= journal.length;) {
    const [size = 0, at = 0, length = 0] = [0, 8, 16].map((field) =>
      Number(journal.readBigUInt64LE(from + field)),
    );
    const end = from + headBytes + length;
    if (end > journal.length) break;
    changes.push({ size, at, old: journal.subarray(from + headBytes, end) });
    from = end;
  }
  return changes;
};

const undoBytes = (path: string, changes: ReadonlyArray<Change>): void => {
  const descriptor = openSync(path, "r+");
  try {
    for (const { size, at, old } of changes.toReversed()) {
      if (old.length > 0) writeSync(descriptor, old, 0, old.length, at);
      ftruncateSync(descriptor, size);
    }
  } finally {
    closeSync(descriptor);
  }
};

/** Gives each path back the file that it was, or makes it nobody's. */
const undoNames = (journal: string, lines: ReadonlyArray<string>): void => {
  for (const line of lines.toReversed()) {
    const [kept = "", path = ""] = line.split("\t");
    if (kept !== "-" && !existsSync(join(journal, kept))) continue;
    rmSync(path, { force: true });
    if (kept !== "-") renameSync(join(journal, kept), path);
  }
};

const linesOf = (text: string): ReadonlyArray<string> => text.split("\n").slice(0, -1);

const filesByInode = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [String(statSync(path).ino), path]),
  );

const cut = (journal: string, folder: string, random: Random): number => {
  const lost = <T>(changes: ReadonlyArray<T>): ReadonlyArray<T> =>
    random.chance(allLost) ? changes : changes.slice(random.below(changes.length + 1));
  let dropped = 0;
  const journals = readdirSync(journal).sort();
  for (const name of journals.filter((one) => one.endsWith(".names"))) {
    const lines = lost(linesOf(readFileSync(join(journal, name), "utf8")));
    undoNames(journal, lines);
    dropped += lines.length;
  }
  const paths = filesByInode(folder);
  for (const name of journals.filter((one) => one.endsWith(".bytes"))) {
    const path = paths.get(name.slice(0, -".bytes".length));
    if (path === undefined) continue;
    const changes = lost(changesOf(readFileSync(join(journal, name))));
    undoBytes(path, changes);
    dropped += changes.length;
  }
  rmSync(journal, { recursive: true });
  mkdirSync(journal);
  return dropped;
};

/** `scratch` is on the file system of the folders, in none of them, and goes with them. */
export const prepare = (scratch: string): Grid | { readonly why: string } => {
  if (process.platform !== "linux") return { why: "calls to files are intercepted on Linux alone" };
  const library = join(scratch, "power.so");
  try {
    execFileSync("cc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "pipe" });
  } catch {
    return { why: "there is no C compiler here that makes a shared library" };
  }
  return (name, folder, random) => {
    const journal = join(scratch, `${name}.power`);
    mkdirSync(journal);
    const environment = { LD_PRELOAD: library, POWER_FOLDER: realpathSync(folder), POWER_JOURNAL: journal };
    return { environment, cut: () => cut(journal, folder, random) };
  };
};
