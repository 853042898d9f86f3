// What one family of vectors hands to the writer: file names under vectors/ and their whole text.
// Everything is made from fixed seeds, so writing twice gives the same bytes.

import { hash } from "node:crypto";

export type Files = ReadonlyMap<string, string>;

/** A list file: one spelling a line, each line ended by LF; an empty line is the empty spelling. */
export const lines = (spellings: ReadonlyArray<string>): string => {
  for (const spelling of spellings) {
    if (spelling.includes("\n"))
      throw new RangeError("a spelling with a line feed cannot stand in a list file");
  }
  return spellings.map((spelling) => `${spelling}\n`).join("");
};

export const json = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

export const hexOf = (text: string): string => Buffer.from(text, "utf8").toString("hex");

/** Bytes that stand for random ones: SHA-256 of a label, cut to `byteCount`. */
export const seeded = (label: string, byteCount = 32): Buffer =>
  hash("sha256", `social-harness vectors: ${label}`, "buffer").subarray(0, byteCount);
