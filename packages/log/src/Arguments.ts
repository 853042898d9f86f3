// The bounds that every engine checks before it does anything, so that engines refuse alike.

import type { AppendOptions, Position, StreamName } from "./Log.ts";
import { LogError } from "./LogError.ts";
import * as Limits from "./Limits.ts";

const namePattern = /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/;

const refuse = (message: string): never => {
  throw new LogError("invalid", message);
};

export const checkStream = (stream: StreamName): void => {
  if (!namePattern.test(stream)) refuse("a stream name is 1 to 64 lower-case letters, digits and hyphens");
};

export const checkPosition = (position: Position, min: 0 | 1): void => {
  if (!Number.isSafeInteger(position) || position < min) refuse(`a position is an integer from ${min}`);
};

export const checkAppend = (stream: StreamName, bytes: Uint8Array, options: AppendOptions): void => {
  checkStream(stream);
  if (bytes.byteLength > Limits.entryBytesMax) {
    refuse(`an entry has at most ${Limits.entryBytesMax} bytes; this one has ${bytes.byteLength}`);
  }
  if (options.expectedTail !== undefined) checkPosition(options.expectedTail, 0);
  const id = options.dedupeId;
  if (id === undefined) return;
  const length = Buffer.byteLength(id, "utf8");
  if (length < 1 || length > Limits.dedupeIdBytesMax || id.includes("\0") || !id.isWellFormed()) {
    refuse(`a dedupe id is 1 to ${Limits.dedupeIdBytesMax} UTF-8 bytes without NUL`);
  }
};

/** The number of entries that one read may return. */
export const pageLimit = (limit: number | undefined): number => {
  if (limit === undefined) return Limits.readEntriesMax;
  if (!Number.isSafeInteger(limit) || limit < 1) refuse("a read limit is an integer from 1");
  return Math.min(limit, Limits.readEntriesMax);
};
