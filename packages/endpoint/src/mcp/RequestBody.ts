// Reads one JSON-RPC message from a request: bounded before it is kept, decoded as UTF-8 without repair, parsed once.
// What the message means is decided elsewhere. Implements MGT-10.

import type { IncomingMessage } from "node:http";
import { codes } from "./McpError.ts";

/** A text of 262,117 characters may be written with six bytes a character; the rest is room for whatever is refused. */
export const bytesMax = 4_194_304;

/** How much more is read and dropped: a client that is still writing would lose the answer with the connection. */
const discardedBytesMax = 33_554_432;

export type Body =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 413; readonly code: number; readonly message: string };

const malformed = (message: string): Body => ({ ok: false, status: 400, code: codes.parseError, message });
const tooLarge: Body = {
  ok: false,
  status: 413,
  code: codes.refused,
  message: `A request has at most ${bytesMax} bytes.`,
};

/** Rejects only when the connection breaks. */
export const read = async (request: IncomingMessage): Promise<Body> => {
  const chunks: Array<Uint8Array> = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > discardedBytesMax) return tooLarge;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > bytesMax) return tooLarge;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return malformed("The body is not UTF-8.");
  }
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return malformed("The body is not JSON.");
  }
};
