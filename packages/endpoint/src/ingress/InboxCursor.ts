// The opaque continuation of an inbox traversal: where it stands and where its first page said that it ends, under an
// authentication code. Good in any process that holds the store's key; says nothing of what it points at. ING-27, ING-29.

import { createHmac, timingSafeEqual } from "node:crypto";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { preimage } from "@social-harness/protocol/encoding/Hash";

export interface Position {
  /** The last row that was handed out. */
  readonly after: number;
  /** The last row that belongs to the traversal. */
  readonly through: number;
}

const positionBytes = 16;
const cursorBytes = positionBytes + 32;
const pattern = Base64Url.patternOf(cursorBytes);

const codeOf = (key: Uint8Array, { after, through }: Position): Buffer =>
  createHmac("sha256", key).update(preimage("inbox-cursor", { after, through })).digest();

export const encode = (key: Uint8Array, position: Position): string => {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64BE(BigInt(position.after), 0);
  bytes.writeBigUInt64BE(BigInt(position.through), 8);
  return Base64Url.encode(Buffer.concat([bytes, codeOf(key, position)]));
};

/** Whether a text could be a cursor of some inbox. */
export const is = (text: string): boolean => pattern.test(text);

/** The position, or null for anything but the exact text that `encode` made with this key. */
export const decode = (key: Uint8Array, text: string): Position | null => {
  if (!is(text)) return null;
  const bytes = Buffer.from(text, "base64url");
  const after = bytes.readBigUInt64BE(0);
  const through = bytes.readBigUInt64BE(8);
  if (after > BigInt(Number.MAX_SAFE_INTEGER) || through > BigInt(Number.MAX_SAFE_INTEGER)) return null;
  const position = { after: Number(after), through: Number(through) };
  return timingSafeEqual(bytes.subarray(positionBytes), codeOf(key, position)) ? position : null;
};
