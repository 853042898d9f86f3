import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as RetryAfter from "../../src/callbacks/RetryAfter.ts";

const now = Date.UTC(1994, 10, 6, 8, 49, 0);

const rows: ReadonlyArray<readonly [header: string | undefined, ms: number | null]> = [
  ["0", 0],
  ["7", 7_000],
  [" 7 ", 7_000],
  ["300", 300_000],
  ["301", 300_000],
  ["99999999999999999999999", 300_000],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 37_000],
  ["Sunday, 06-Nov-94 08:49:37 GMT", 37_000],
  ["Sun Nov  6 08:49:37 1994", 37_000],
  ["Sun Nov 06 08:49:37 1994", 37_000],
  ["Sun, 06 Nov 1994 09:49:37 GMT", 300_000],
  ["Fri, 31 Dec 9999 23:59:59 GMT", 300_000],
  ["Sun, 06 Nov 1994 08:48:37 GMT", 0],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  // Two digits more than fifty years ahead are of the past.
  ["Sunday, 06-Nov-44 08:49:37 GMT", 300_000],
  ["Sunday, 06-Nov-45 08:49:37 GMT", 0],
  [undefined, null],
  ["", null],
  ["-1", null],
  ["1.5", null],
  ["1e3", null],
  ["0x10", null],
  ["7, 7", null],
  ["soon", null],
  ["Sun, 06 Nov 1994 08:49:37 UTC", null],
  ["Sun, 6 Nov 1994 08:49:37 GMT", null],
  ["Sun, 06 Foo 1994 08:49:37 GMT", null],
  ["1994-11-06T08:49:37Z", null],
];

for (const [header, ms] of rows) {
  verifies("ING-73", `${JSON.stringify(header) ?? "no header"} is ${ms}`, () => {
    expect(RetryAfter.parse(header, now)).toBe(ms);
  });
}
