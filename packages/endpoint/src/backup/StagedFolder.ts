// A folder that appears whole under its name or not at all: it is made under another one beside it, flushed, and renamed in
// one step. A kill leaves the other name, which the next one for the same place removes, and nothing under the one that was
// asked for. Implements RUN-350.

import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import * as ProcessBirth from "../state/ProcessBirth.ts";
import { codeOf, StateError } from "../state/StateError.ts";

const flush = (path: string): void => {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

const flushAll = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) flushAll(path);
    else flush(path);
  }
  flush(folder);
};

const mounted = (path: string): StateError =>
  new StateError(
    "unavailable",
    `${path} is where something is mounted, and no folder can take that place`,
    "give a folder inside it",
  );

/** The error of a path that cannot be written, in words; any other stays what it is. */
const explained = (path: string, error: unknown): unknown => {
  const code = codeOf(error);
  if (code === undefined || code.startsWith("ERR_")) return error;
  if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR") {
    return new StateError("exists", `${path} is there already and is left as it is`, "give another folder");
  }
  // A mount of the same disk does not show before.
  if (code === "EBUSY") return mounted(path);
  return new StateError("unavailable", `${path} cannot be written (${code})`, "check the path and the disk", {
    cause: error,
  });
};

/** The path without symlinks, as far as it exists. */
export const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realOf(parent), basename(path));
  }
};

/** What cannot be renamed onto is found out before anything is copied. Returns where the folder is to stand, links followed. */
const placeOf = (path: string): string => {
  const place = realOf(resolve(path));
  if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new StateError(
      "unavailable",
      `${path} is a link that leads nowhere`,
      "make the folder that it is to lead to, or give another one",
    );
  }
  if (existsSync(place) && statSync(place).dev !== statSync(dirname(place)).dev) {
    throw mounted(path);
  }
  return place;
};

/** With the pid of who fills it, so that what a killed one left is told from what another is filling now. */
const prefixOf = (target: string): string => `.${basename(target)}.unfinished-`;

/** A copy that is under way in another thread may make one more file meanwhile. */
const remove = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });

/** They hold keys, and whoever was killed can remove them no more. */
const removeLeft = (target: string): void => {
  const [parent, prefix] = [dirname(target), prefixOf(target)];
  for (const name of readdirSync(parent).filter((each) => each.startsWith(prefix))) {
    const [, pid] = /^([1-9]\d{0,9})-/.exec(name.slice(prefix.length)) ?? [];
    if (pid !== undefined && ProcessBirth.of(Number(pid)) === null) remove(join(parent, name));
  }
};

/** Those that this process fills at this moment. */
const filling = new Set<string>();

/** Removes what this process has begun, for one that ends before it is done: nothing gets its name any more. */
export const discard = (): void => {
  for (const staging of filling) remove(staging);
  filling.clear();
};

/**
 * Has `fill` write into a folder that only its owner can read, and gives it the name `path`, which must be free or an empty
 * folder. Throws `StateError`, or what `fill` throws; either leaves nothing behind.
 */
export const publish = async <A>(path: string, fill: (staging: string) => Promise<A>): Promise<A> => {
  let staging: string | null = null;
  try {
    const target = placeOf(path);
    const parent = dirname(target);
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    removeLeft(target);
    staging = mkdtempSync(join(parent, `${prefixOf(target)}${process.pid}-`));
    filling.add(staging);
    const result = await fill(staging);
    flushAll(staging);
    renameSync(staging, target);
    flush(parent);
    return result;
  } catch (error) {
    throw explained(resolve(path), error);
  } finally {
    if (staging !== null) {
      remove(staging);
      filling.delete(staging);
    }
  }
};
