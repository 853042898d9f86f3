// Small files that only their owner may read, written so that a kill or a power cut leaves the old content or the new,
// never half of one. Knows no file's meaning. Implements RUN-20.

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf, StateError, unavailable } from "./StateError.ts";

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

/** The pid in the name under which a process writes before it puts a file in place; null for any other name. */
export const stagingPid = (name: string): number | null => {
  const [, pid] = /\.([1-9]\d{0,9})\.new$/.exec(name) ?? [];
  return pid === undefined ? null : Number(pid);
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
  throw unavailable(`${path} cannot be written`, error);
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

const checkOwnedBy = (path: string, { mode, uid }: Stats): void => {
  if (process.platform === "win32") return;
  if ((mode & othersMask) !== 0) {
    const found = (mode & 0o777).toString(8).padStart(4, "0");
    throw new StateError("permissions", `${path} has mode ${found}`, `run \`chmod go= ${path}\``);
  }
  const self = process.getuid?.() ?? uid;
  if (self !== 0 && uid !== self) {
    throw new StateError("permissions", `${path} belongs to another user (uid ${uid})`, "run as its owner");
  }
};

/** Refuses a file or folder that anybody but its owner could touch, or that another user owns. */
export const checkPrivate = (path: string): void => checkOwnedBy(path, statSync(path));

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What is opened is what is checked and read. A pipe that nobody writes to must not be waited for. */
const readText = (path: string, bytesMax: number): string => {
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(descriptor);
    checkOwnedBy(path, stats);
    if (!stats.isFile())
      throw new StateError("malformed", `${path} is no ordinary file`, "put one in its place");
    const tooLarge = new StateError(
      "malformed",
      `${path} is larger than ${bytesMax} bytes`,
      "put it back as it was",
    );
    if (stats.size > bytesMax) throw tooLarge;
    const bytes = readFileSync(descriptor);
    if (bytes.byteLength > bytesMax) throw tooLarge;
    return utf8.decode(bytes);
  } finally {
    closeSync(descriptor);
  }
};

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** The text of a private file, or null when there is none; a link that leads nowhere is not none. */
export const read = (path: string, bytesMax: number): string | null => {
  try {
    return readText(path, bytesMax);
  } catch (error) {
    if (error instanceof StateError) throw error;
    const code = codeOf(error);
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw new StateError(
        "malformed",
        `${path} is damaged, or is not UTF-8`,
        "put it back as it was, or save it as UTF-8",
        { cause: error },
      );
    }
    if (code === "ENOENT") {
      if (!isLink(path)) return null;
      throw new StateError("unavailable", `${path} is a link that leads nowhere`, "put a file in its place");
    }
    throw unavailable(`${path} cannot be read`, error);
  }
};
