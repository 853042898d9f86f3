// A webhook receiver's own memory, one file of JSON lines that outlives it: every delivery that reached it, with the answer
// that it was going to give. A line is written before the answer.

import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What a delivery gets. All but `taken` are no receipt. */
export type Reply =
  /** 200, whole. */
  | "taken"
  /** 500. */
  | "failed"
  /** The connection closes: without a byte, or in the middle of a 200. */
  | "closed"
  | "cut"
  /** Nothing at all, until the caller has had enough. */
  | "silent";

export interface Attempt {
  /** When its head arrived. */
  readonly at: number;
  /** `webhook-id`, as the head has it. */
  readonly webhookId: string;
  /** What its body said; null when it broke off. */
  readonly event: {
    readonly eventId: string;
    /** Of all its bytes, and of the item in it. */
    readonly digest: string;
    readonly itemDigest: string | null;
    readonly guidance: string | null;
    readonly isSigned: boolean;
  } | null;
  readonly reply: Reply;
}

export const write = (file: string, attempt: Attempt): void =>
  appendFileSync(file, `${JSON.stringify(attempt)}\n`);

/** In the order of their arrival. */
export const read = (file: string): ReadonlyArray<Attempt> => {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Attempt)
    .toSorted((one, other) => one.at - other.at);
};
