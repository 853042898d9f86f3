// JSON that a person or a program has written in any of its spellings, for values that something depends on: UTF-8 without repair,
// and no name twice in one object, since readers differ in which of the two counts. CanonicalJson.ts is for what is signed.

import { DecodeError } from "./DecodeError.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const quoted = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** Outside of its strings, JSON has one colon for each member of an object as it is written. */
const membersWritten = (text: string): number => text.replace(quoted, "").split(":").length - 1;

const membersKept = (root: unknown): number => {
  let count = 0;
  const waiting = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null) continue;
    const inside: ReadonlyArray<unknown> = Object.values(value);
    if (!Array.isArray(value)) count += inside.length;
    for (const one of inside) waiting.push(one);
  }
  return count;
};

/** Throws `DecodeError`: `not-json`, or `repeated-name`. */
export const parse = (text: string): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new DecodeError("not-json", "the text is not JSON");
  }
  if (membersWritten(text) === membersKept(value)) return value;
  throw new DecodeError("repeated-name", "an object has a name twice");
};

/** As `parse`, for bytes that must be UTF-8. Throws `DecodeError`, `not-utf8` as well. */
export const parseBytes = (bytes: Uint8Array): unknown => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new DecodeError("not-utf8", "the bytes are not UTF-8");
  }
  return parse(text);
};
