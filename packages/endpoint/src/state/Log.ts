// The endpoint's log: one JSON object a line, files that rotate by size, levels. Fields are ids, counts and closed
// reasons; whatever still looks like a secret is struck out. A log that cannot be written stops nothing, and what it was to
// say is written once it can. Implements RUN-25 and RUN-116.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Logger } from "@social-harness/router/Logger";
import * as LogFiles from "./LogFiles.ts";
import { codeOf } from "./StateError.ts";

type Level = LogFiles.Level;

const rank = (level: Level): number => LogFiles.levels.indexOf(level);

/** Callback secrets, invites, admission credentials, bearer tokens: by the shapes they always have. */
const secretShapes = /\b(?:whsec_|shn1_|adm_)[A-Za-z0-9_+/=-]+|\bBearer\s+[A-Za-z0-9._~+/=-]{16,}/gi;
const struckOut = "[redacted]";

/** Longer values are cut: a line is for reading, and an error's text may quote anything. */
const valueCharactersMax = 2_000;

export interface LogOptions {
  readonly folder: string;
  readonly level: Level;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Values that may never appear, asked for at each line because tokens rotate. */
  readonly secrets?: () => ReadonlyArray<string>;
  readonly fileBytesMax?: number;
  /** Files kept beside the current one. */
  readonly olderFilesMax?: number;
}

type Fields = NonNullable<Parameters<Logger>[2]>;

export interface Log {
  /** A `Logger`, and with one level more. */
  readonly write: (level: Level, event: string, fields?: Fields) => void;
  readonly close: () => void;
}

/** Lines that wait for a disk that takes none: what comes after them is counted. */
const linesKeptMax = 64;

/** More of a text than this is never looked at: what is thrown may be of any length. */
const causeCharactersMax = 65_536;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, causeCharactersMax) : typeof value;

/** Name, message and stack of whatever was thrown, for the fields of a line. Total: an error's own parts may throw. */
export const causeOf = (error: unknown): Fields => {
  try {
    if (!(error instanceof Error)) return { error: "not an error", message: typeof error };
    const { name, message, stack } = error;
    return { error: textOf(name), message: textOf(message), stack: textOf(stack ?? "") };
  } catch {
    return { error: "an error that cannot be read", message: typeof error };
  }
};

interface File {
  readonly append: (line: string) => void;
  readonly close: () => void;
}

/** Opened so that a pipe in its place, which nobody may read, is refused and not waited for. */
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

/** Never the folder around it: one that was moved away would have another one in its place when it comes back. */
const makeFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
};

const openFile = (folder: string, bytesMax: number, olderMax: number): File => {
  const pathOf = (age: number): string => join(folder, LogFiles.nameOf(age));
  let descriptor: number | null = null;
  let inode = 0;
  let bytes = 0;
  const close = (): void => {
    if (descriptor !== null) closeSync(descriptor);
    descriptor = null;
  };
  const current = (): number => {
    if (descriptor === null) {
      makeFolder(folder);
      descriptor = openSync(pathOf(0), appending, 0o600);
      const found = fstatSync(descriptor);
      if (!found.isFile()) {
        close();
        throw new Error("something that is no file stands in the place of the log");
      }
      inode = found.ino;
      bytes = found.size;
    }
    return descriptor;
  };
  /** Whoever deleted or moved the file would never see a line again. */
  const leaveLost = (): void => {
    if (descriptor !== null && statSync(pathOf(0), { throwIfNoEntry: false })?.ino !== inode) close();
  };
  const rotate = (): void => {
    close();
    for (let age = olderMax; age > 0; age--) {
      try {
        renameSync(pathOf(age - 1), pathOf(age));
      } catch {
        // A file that is not there yet leaves its place empty.
      }
    }
  };
  return {
    append: (line) => {
      leaveLost();
      current();
      const size = Buffer.byteLength(line, "utf8");
      const isFull = (): boolean => bytes > 0 && bytes + size > bytesMax;
      if (isFull()) {
        rotate();
        current();
        if (isFull()) throw new Error("the file is full, and its folder lets it become no older one");
      }
      const taken = writeSync(current(), line);
      if (taken < size) {
        // The disk became full within the line: half of one helps nobody.
        ftruncateSync(current(), bytes);
        throw new Error("the disk took a part of a line");
      }
      bytes += size;
    },
    close,
  };
};

export const open = (options: LogOptions): Log => {
  const file = openFile(
    options.folder,
    options.fileBytesMax ?? LogFiles.fileBytesMax,
    options.olderFilesMax ?? LogFiles.olderFilesMax,
  );
  let lost = 0;
  /** Lines that the disk did not take, the oldest first: a full disk is what the log must tell of above all. */
  let kept: ReadonlyArray<string> = [];

  /** Appends the line behind those that were kept. Those that the disk takes are gone from `kept`, whatever becomes of the rest. */
  const append = (line: string): void => {
    kept = [...kept, line];
    while (kept[0] !== undefined) {
      file.append(kept[0]);
      kept = kept.slice(1);
    }
  };

  /** What must not appear in this line. A token that cannot be read is no reason to lose the line. */
  const secretsNow = (): ReadonlyArray<string> => {
    try {
      return options.secrets?.() ?? [];
    } catch {
      return [];
    }
  };

  const clean = (value: string | number, secrets: ReadonlyArray<string>): string | number => {
    if (typeof value !== "string") return value;
    let text = value.replace(secretShapes, struckOut);
    for (const secret of secrets) text = text.replaceAll(secret, struckOut);
    return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax)}...` : text;
  };

  const write: Log["write"] = (level, event, fields = {}) => {
    if (rank(level) < rank(options.level)) return;
    const secrets = secretsNow();
    const cleaned = Object.entries(fields).map(([name, value]) => [name, clean(value, secrets)] as const);
    const line = {
      time: new Date(options.clock()).toISOString(),
      level,
      event: clean(event, secrets),
      ...Object.fromEntries(cleaned),
      ...(lost === 0 ? {} : { linesLost: lost }),
    };
    try {
      append(`${JSON.stringify(line)}\n`);
      lost = 0;
    } catch {
      lost = kept.length > linesKeptMax ? lost + 1 : 0;
      kept = kept.slice(0, linesKeptMax);
    }
  };

  return { write, close: file.close };
};
