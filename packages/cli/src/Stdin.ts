// What a program or a shell pipes in, as text. Implements RUN-19 and RUN-306.

import process from "node:process";
import { buffer } from "node:stream/consumers";
import { misused } from "./Failure.ts";

/** Without its last line end, which a shell put there. Throws a `Failure` for what is not UTF-8, and for nothing, with `next`. */
export const text = async (next: string): Promise<string> => {
  let piped: string;
  try {
    const bytes = await buffer(process.stdin);
    piped = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw misused("what came from stdin is not UTF-8", "Convert it first, for example with iconv.");
  }
  const whole = piped.replace(/\r?\n$/, "");
  if (whole === "") throw misused("nothing came from stdin", next);
  return whole;
};
