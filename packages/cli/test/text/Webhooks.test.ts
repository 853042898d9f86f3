// What a person is told to do about a webhook that fails: each way to fail has words and a next step of its own.

import { expect } from "vitest";
import { errors } from "@social-harness/endpoint/operations/EventSubscription";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf } from "../../src/text/WebhookFailures.ts";
import { passedLine, resumedLine } from "../../src/text/Webhooks.ts";

verifies("ING-206", "each way to fail has its own words and its own next step", () => {
  for (const part of ["what", "next"] as const) {
    expect(new Set(errors.map((error) => failureOf(error, null)[part])).size).toBe(errors.length);
  }
  for (const [error, word] of [
    ["connection_refused", "Start the receiver"],
    ["tls_error", "certificate"],
    ["http_3xx", "redirect"],
    ["http_4xx", "secret"],
    ["timeout", "answer first"],
    ["address_refused", "public host"],
    ["dns_failed", "its name"],
  ] as const) {
    expect(failureOf(error, null).next).toContain(word);
  }
  expect(failureOf("http_3xx", 301).what).toBe(
    "it answered with a redirect, and none is followed (HTTP 301)",
  );
});

verifies("ING-200", "neither a resume nor a test promises more than happens", () => {
  expect([0, 1, 3].map(resumedLine)).toEqual([
    "Resumed: nothing waits.",
    "Resumed: 1 item waits and is tried now.",
    "Resumed: 3 items wait, and the first is tried now.",
  ]);
  expect(passedLine(7, false)).toBe("The callback answered its challenge in 7 ms.");
  expect(passedLine(7, true)).toContain("Even so nothing is delivered in mode trusted-local");
});
