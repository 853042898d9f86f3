// What a program or a shell pipes in, as text. Implements RUN-19 and RUN-306.

import process from "node:process";
import * as Limits from "@social-harness/protocol/Limits";
import { type Failure, misused } from "./Failure.ts";

/** No longer text fits a post, nor is any invite as long; the rest is a line end. */
const bytesMax = Limits.contentBytesMax + 2;

export interface Wanted {
  /** The next step where nothing came. */
  readonly next: string;
  /** For what cannot be the thing, however it goes on: no more of it is read. */
  readonly tooLong: Failure;
}

const read = async (tooLong: Failure): Promise<Buffer> => {
  const chunks: Array<Buffer> = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLong;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Without its last line end, which a shell put there. Throws a `Failure` for what is not UTF-8, for nothing and `tooLong`. */
export const text = async ({ next, tooLong }: Wanted): Promise<string> => {
  const bytes = await read(tooLong);
  let piped: string;
  try {
    piped = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw misused("what came from stdin is not UTF-8", "Convert it first, for example with iconv.");
  }
  const whole = piped.replace(/\r?\n$/, "");
  if (whole === "") throw misused("nothing came from stdin", next);
  return whole;
};
