// The files of an endpoint's log as a reader finds them: which one follows which, the last lines, and what comes after them
// over any number of rotations. Needs no daemon and writes nothing. Implements RUN-147 and RUN-148.

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import * as Schema from "effect/Schema";
import { codeOf, StateError, unavailable } from "./StateError.ts";

/** A file that is full becomes the first of the older ones. */
export const fileBytesMax = 8_388_608;
/** Files kept beside the current one: 40 MiB of log in all. */
export const olderFilesMax = 4;

/** 0 for the one that is being written. */
export const nameOf = (age: number): string => (age === 0 ? "endpoint.log" : `endpoint.${age}.log`);

export const levels = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];

const Line = Schema.StructWithRest(
  Schema.Struct({ time: Schema.String, level: Schema.Literals(levels), event: Schema.String }),
  [Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Number]))],
);
export type Line = typeof Line.Type;
const isLine = Schema.is(Line);

export interface Lines {
  /** The oldest first. */
  readonly lines: ReadonlyArray<Line>;
  /** Of what a power cut or a full disk left behind. */
  readonly unreadable: number;
}

const lineOf = (text: string): Line | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isLine(value) ? value : null;
  } catch {
    return null;
  }
};

/** One file from an offset to its last line end, as it is now. */
interface Part extends Lines {
  readonly inode: number;
  /** Where its first line begins that has not ended yet. */
  readonly end: number;
}

/** Null where there is no such file, or another one has its name by now. */
const readPart = (path: string, from: number, inode?: number): Part | null => {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unavailable(`${path} cannot be read`, error);
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile())
      throw new StateError("unavailable", `${path} is no file`, "move away what stands in the log's place");
    if (inode !== undefined && found.ino !== inode) return null;
    const bytes = Buffer.alloc(Math.max(0, found.size - from));
    const size = readSync(descriptor, bytes, 0, bytes.length, from);
    const whole = bytes.subarray(0, size).lastIndexOf("\n") + 1;
    const texts = whole === 0 ? [] : bytes.toString("utf8", 0, whole - 1).split("\n");
    const decoded = texts.map(lineOf);
    const lines = decoded.filter((line) => line !== null);
    return { inode: found.ino, end: from + whole, lines, unreadable: decoded.length - lines.length };
  } finally {
    closeSync(descriptor);
  }
};

export interface Reader {
  /** The last lines that are kept by `keep`, at most `count`. Call it first. */
  readonly last: (count: number, keep: (line: Line) => boolean) => Lines;
  /** What was written since. */
  readonly more: () => Lines;
}

export const open = (folder: string): Reader => {
  const pathOf = (age: number): string => join(folder, nameOf(age));
  const ages = Array.from({ length: olderFilesMax + 1 }, (_, age) => age);
  /** Up to where everything has been read; null before there was any file. */
  let position: { readonly inode: number; readonly end: number } | null = null;

  const ageOf = (inode: number): number =>
    ages.findIndex((age) => statSync(pathOf(age), { throwIfNoEntry: false })?.ino === inode);

  const last: Reader["last"] = (count, keep) => {
    const seen = new Set<number>();
    let lines: ReadonlyArray<Line> = [];
    let unreadable = 0;
    for (const age of ages) {
      const part = lines.length < count ? readPart(pathOf(age), 0) : null;
      // A rotation between two looks brings a file that was read already.
      if (part === null || seen.has(part.inode)) continue;
      position ??= part;
      seen.add(part.inode);
      unreadable += part.unreadable;
      lines = [...part.lines.filter(keep), ...lines];
    }
    return { lines: lines.slice(Math.max(0, lines.length - count)), unreadable };
  };

  /** The file that comes after the one at `age`, or the oldest where that one is gone; null where there is none yet. */
  const next = (age: number): Part | null => {
    if (age > 0) return readPart(pathOf(age - 1), 0);
    const oldest = ages.findLast((one) => statSync(pathOf(one), { throwIfNoEntry: false }) !== undefined);
    return oldest === undefined ? null : readPart(pathOf(oldest), 0);
  };

  const more: Reader["more"] = () => {
    const lines: Array<Line> = [];
    let unreadable = 0;
    const take = (part: Part): void => {
      position = part;
      for (const line of part.lines) lines.push(line);
      unreadable += part.unreadable;
    };
    // Bounded: whoever writes faster than this is read on at the next call.
    for (let step = 0; step <= olderFilesMax; step++) {
      const age: number = position === null ? -1 : ageOf(position.inode);
      const rest = age < 0 || position === null ? null : readPart(pathOf(age), position.end, position.inode);
      if (rest !== null) take(rest);
      // The file moved on between the two looks: where it is now shows at the next one.
      else if (age >= 0) continue;
      if (age === 0) break;
      const part = next(age);
      if (part === null) break;
      // After a rotation in between, that would be one file too far.
      if (age > 0 && position !== null && ageOf(position.inode) !== age) continue;
      take(part);
    }
    return { lines, unreadable };
  };

  return { last, more };
};
