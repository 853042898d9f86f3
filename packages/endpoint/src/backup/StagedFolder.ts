// A folder that appears whole under its name or not at all: it is made under another one beside it, flushed, and renamed in
// one step. A kill leaves the other name, which nobody looks at, and nothing under the one that was asked for.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
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

/** The error of a path that cannot be written, in words; any other stays what it is. */
const explained = (path: string, error: unknown): unknown => {
  const code = codeOf(error);
  if (code === undefined || code.startsWith("ERR_")) return error;
  if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR") {
    return new StateError("exists", `${path} is there already and is left as it is`, "give another folder");
  }
  return new StateError("unavailable", `${path} cannot be written (${code})`, "check the path and the disk", {
    cause: error,
  });
};

/**
 * Has `fill` write into a folder that only its owner can read, and gives it the name `path`, which must be free or an empty
 * folder. Throws `StateError`, or what `fill` throws; either leaves nothing behind.
 */
export const publish = async <A>(path: string, fill: (staging: string) => Promise<A>): Promise<A> => {
  const target = resolve(path);
  const parent = dirname(target);
  let staging: string | null = null;
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    staging = mkdtempSync(join(parent, `.${basename(target)}.unfinished-`));
    const result = await fill(staging);
    flushAll(staging);
    renameSync(staging, target);
    flush(parent);
    return result;
  } catch (error) {
    throw explained(target, error);
  } finally {
    if (staging !== null) rmSync(staging, { recursive: true, force: true });
  }
};
