// How many diagnostics cross, and of what: exactly as many as there are up to twenty, then twenty.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { startEndpoint } from "./TestEndpoint.ts";
import { issuesOf } from "./ToolArguments.ts";

verifies("MGT-60", "nineteen defects are nineteen issues, twenty-one are twenty", async () => {
  const { port, close } = await startEndpoint();
  onTestFinished(close);
  for (const [defects, issues] of [
    [1, 1],
    [19, 19],
    [20, 20],
    [21, 20],
    [500, 20],
  ] as const) {
    const args = Object.fromEntries(Array.from({ length: defects }, (_, i) => [`field${i}`, "secret-value"]));
    const told = await issuesOf(port, "read_inbox", args);
    expect([defects, told.length]).toEqual([defects, issues]);
    for (const issue of told) {
      expect(Object.keys(issue).toSorted()).toEqual(["message", "path"]);
      expect(issue.message).not.toContain("secret-value");
    }
  }
});
