// RFC 8785 (JCS) bytes of plain JSON data, and the boundary decoder that accepts nothing else.
// Knows no schema: Closed.ts adds the shapes. Implements FND-01 and FND-02.

import { DecodeError } from "./DecodeError.ts";

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json };

/** Bounds of one boundary. `depthMax` counts containers; the root container is 1. */
export interface Bounds {
  readonly bytesMax: number;
  readonly depthMax: number;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const writeString = (value: string): string => {
  if (!value.isWellFormed()) throw new DecodeError("lone-surrogate", "a string holds a lone surrogate");
  return JSON.stringify(value);
};

const write = (value: Json, depth: number, depthMax: number): string => {
  switch (typeof value) {
    case "string":
      return writeString(value);
    case "number":
      if (!Number.isFinite(value)) throw new DecodeError("schema", "a number is not finite");
      return Object.is(value, -0) ? "0" : String(value);
    case "boolean":
      return value ? "true" : "false";
    case "object": {
      if (value === null) return "null";
      if (depth > depthMax) throw new DecodeError("too-deep", `containers nest deeper than ${depthMax}`);
      return Array.isArray(value)
        ? writeArray(value, depth, depthMax)
        : writeObject(value as { readonly [key: string]: Json }, depth, depthMax);
    }
    default:
      throw new DecodeError("schema", "not a JSON value");
  }
};

const writeArray = (value: ReadonlyArray<Json>, depth: number, depthMax: number): string => {
  let out = "[";
  for (let i = 0; i < value.length; i++) {
    if (i > 0) out += ",";
    out += write(value[i] as Json, depth + 1, depthMax);
  }
  return out + "]";
};

/** Member names as they are written. A few dozen come again and again; what strangers make up is not kept for long. */
const names = new Map<string, string>();
const namesMax = 1_024;
const nameLengthMax = 64;

const writeName = (name: string): string => {
  const known = names.get(name);
  if (known !== undefined) return known;
  const written = writeString(name) + ":";
  if (names.size >= namesMax) names.clear();
  if (name.length <= nameLengthMax) names.set(name, written);
  return written;
};

/** In increasing order of UTF-16 code units, as most objects have them already. */
const inOrder = (keys: Array<string>): Array<string> => {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort();
  }
  return keys;
};

const writeObject = (value: { readonly [key: string]: Json }, depth: number, depthMax: number): string => {
  let out = "{";
  let first = true;
  for (const key of inOrder(Object.keys(value))) {
    const member = value[key];
    if (member === undefined) throw new DecodeError("schema", "an object member is undefined");
    out += (first ? "" : ",") + writeName(key) + write(member, depth + 1, depthMax);
    first = false;
  }
  return out + "}";
};

/** The JCS text of a value. Throws `DecodeError` for what JSON cannot carry (lone surrogates, NaN, undefined, too deep). */
export const encode = (value: Json, depthMax = 64): string => write(value, 1, depthMax);

/** The JCS bytes of a value. */
export const encodeBytes = (value: Json, depthMax = 64): Buffer =>
  Buffer.from(encode(value, depthMax), "utf8");

/** Length in bytes of the JCS form. */
export const byteLength = (value: Json, depthMax = 64): number =>
  Buffer.byteLength(encode(value, depthMax), "utf8");

/**
 * Decodes bytes that must be exactly the JCS form of a JSON value within the bounds (FND-01, steps 1 to 5).
 * Refuses duplicate names, alternative number spellings, byte-order marks and trailing data by re-encoding.
 */
export const decodeBytes = (bytes: Uint8Array, bounds: Bounds): Json => {
  if (bytes.byteLength > bounds.bytesMax) {
    throw new DecodeError("too-large", `${bytes.byteLength} bytes; at most ${bounds.bytesMax} are accepted`);
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new DecodeError("not-utf8", "the bytes are not UTF-8");
  }
  return decodeText(text, bounds);
};

/** As `decodeBytes`, for text whose byte length the caller has already bounded. */
export const decodeText = (text: string, bounds: Bounds): Json => {
  if (Buffer.byteLength(text, "utf8") > bounds.bytesMax) {
    throw new DecodeError("too-large", `the text is longer than ${bounds.bytesMax} bytes`);
  }
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new DecodeError("not-json", "the text is not JSON");
  }
  if (encode(value, bounds.depthMax) !== text) {
    throw new DecodeError("not-canonical", "the JSON is not in canonical (RFC 8785) form");
  }
  return value;
};
