// Small files that only their owner may read, written so that a kill or a power cut leaves the old content or the new,
// never half of one. Knows no file's meaning. Implements RUN-20.

import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf, remedyOf, StateError } from "./StateError.ts";

const ownerOnly = 0o600;
const othersMask = 0o077;

const flush = (path: string): void => {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

/** Writes and flushes the text under a name of this process alone, hands that name on, and leaves none behind. */
const staged = (path: string, text: string, publish: (staging: string) => void): void => {
  const staging = `${path}.${process.pid}.new`;
  rmSync(staging, { force: true });
  try {
    const descriptor = openSync(staging, "wx", ownerOnly);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    publish(staging);
    flush(dirname(path));
  } finally {
    rmSync(staging, { force: true });
  }
};

const refusing = (path: string, error: unknown): never => {
  if (error instanceof StateError) throw error;
  throw new StateError("unavailable", `${path} cannot be written: ${remedyOf(error)}`, {
    cause: error,
  });
};

/** Creates the file whole; false, and nothing changed, when there is one already. */
export const createOnce = (path: string, text: string): boolean => {
  try {
    staged(path, text, (staging) => linkSync(staging, path));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    return refusing(path, error);
  }
};

/** Puts new content in the place of the old in one step. */
export const replace = (path: string, text: string): void => {
  try {
    staged(path, text, (staging) => renameSync(staging, path));
  } catch (error) {
    refusing(path, error);
  }
};

/** Refuses a file or folder that anybody but its owner could touch, or that another user owns. */
export const checkPrivate = (path: string): void => {
  if (process.platform === "win32") return;
  const { mode, uid } = statSync(path);
  if ((mode & othersMask) !== 0) {
    const found = (mode & 0o777).toString(8).padStart(4, "0");
    throw new StateError("permissions", `${path} has mode ${found}: run \`chmod go= ${path}\``);
  }
  const self = process.getuid?.() ?? uid;
  if (self !== 0 && uid !== self) {
    throw new StateError("permissions", `${path} belongs to another user (uid ${uid}): run as its owner`);
  }
};

/** The text of a private file, or null when there is none. */
export const read = (path: string, bytesMax: number): string | null => {
  try {
    checkPrivate(path);
    if (statSync(path).size > bytesMax) {
      throw new StateError("malformed", `${path} is larger than ${bytesMax} bytes`);
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (error instanceof StateError) throw error;
    throw new StateError("unavailable", `${path} cannot be read: ${remedyOf(error)}`, { cause: error });
  }
};
