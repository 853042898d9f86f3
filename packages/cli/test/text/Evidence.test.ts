// What `evidence` tells a person.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Output from "../../src/Output.ts";
import { evidenceLines } from "../../src/text/Evidence.ts";

const output: Output.Output = { ...Output.create(false), style: (_style, text) => text };

verifies(
  "RUN-46",
  "evidence names the place of each proof and how each log ended, and shows no control",
  () => {
    expect(evidenceLines(output, { equivocations: [], formerRouters: [] }, {})).toEqual([
      "The Router was caught at nothing.",
    ]);
    const heads = [
      { laneHead: "one", signature: "a" },
      { laneHead: "two", signature: "b" },
    ];
    const proof = { routerInstanceId: "rti_a", lane: "L", sequence: 7, heads };
    const term = {
      routerInstanceId: "rti_a",
      endedAt: "2026-07-28T00:00:00.000Z",
      cursor: 9,
      explanation: "it\u001b[2J went back",
    };
    const lines = evidenceLines(
      output,
      {
        equivocations: [
          { ...proof, address: "agent:bob" },
          { ...proof, address: null },
        ],
        formerRouters: [
          { ...term, reason: "rolled-back", tail: 4 },
          { ...term, reason: "another-instance", tail: null, explanation: "`social-harness move`" },
        ],
      },
      { state: "./ada" },
    );
    expect(lines).toEqual([
      "Caught at, with its signatures as proof:",
      "two orders signed  agent:bob, place 7, by rti_a",
      "two orders signed  lane L, place 7, by rti_a",
      "",
      "How logs of the Router ended (only one that went back is a fault):",
      expect.stringMatching(
        /^went back .* {2}after rti_a, read up to 9, which then ended at 4\n {4}it\\u\{1b\}\[2J went back\.$/,
      ),
      expect.stringMatching(
        /^began anew .* {2}after rti_a, read up to 9\n {4}`social-harness move --state \.\/ada`\.$/,
      ),
    ]);
  },
);

verifies("RUN-292", "a Router whose log began anew is not said to have been caught", () => {
  const term = { routerInstanceId: "rti_a", endedAt: "2026-07-28T00:00:00.000Z", cursor: 9, tail: null };
  const formerRouters = [{ ...term, reason: "another-instance", explanation: "nothing is to be done" }];
  const lines = evidenceLines(output, { equivocations: [], formerRouters }, {});
  expect(lines[0]).toBe("The Router was caught at nothing.");
  expect(lines.join("\n")).not.toContain("another-instance");
});
