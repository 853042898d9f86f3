// Two thousand damaged tool calls over real HTTP. Whatever is wrong, the answer is closed: malformed with its issues, or
// an expected failure with its reason; never a 5xx, never a submitted value, never a word about the inside.

import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";

const endpoints: Array<TestEndpoint> = [];
beforeAll(async () => {
  endpoints.push(await startEndpoint({ registered: false }), await startEndpoint());
  endpoints[1]?.deliver(textItem("hello"));
});
afterAll(async () => {
  for (const endpoint of endpoints) await endpoint.close();
});

const canary = "canary-7f3a";
const names = fc.constantFrom(
  "register",
  "status",
  "search_agents",
  "search_conversations",
  "read_conversation",
  "send_message",
  "read_inbox",
  "acknowledge_delivery",
  "read_event",
);
const fields = fc.constantFrom(
  "operationId",
  "principalId",
  "agentName",
  "admission",
  "agentId",
  "prefix",
  "afterAgentName",
  "afterAddress",
  "address",
  "afterRecordHash",
  "continuation",
  "input",
  "to",
  "text",
  "collective",
  "collectiveResponse",
  "op",
  "idempotencyKey",
  "cursor",
  "deliveryToken",
  "eventId",
  "__proto__",
  "constructor",
  "",
);
const leaf = fc.oneof(
  fc.constantFrom(canary, `dlv_${canary}`, "\ud800", "\0", "multicast", null, true, -0, 1e300, []),
  fc.string({ maxLength: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const hostile = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(fields, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

const closedReasons = /^[a-z]+(-[a-z]+)*$/;

const check = (answer: RawHttp.Answer): void => {
  expect(answer.status).toBeLessThan(500);
  expect(answer.text).not.toMatch(/\bat .*\.ts:|SELECT |node_modules|Error:/);
  const { error } = answer.body;
  if (error === undefined) return;
  expect(answer.text).not.toContain(canary);
  if (error.code === -32_602) {
    const issues = error.data?.issues as ReadonlyArray<{ readonly path: unknown; readonly message: unknown }>;
    expect(issues.length).toBeGreaterThan(0);
    expect(issues.length).toBeLessThanOrEqual(20);
    for (const issue of issues)
      expect([Array.isArray(issue.path), typeof issue.message]).toEqual([true, "string"]);
    expect(Object.keys(error.data ?? {}).filter((key) => key !== "reason")).toEqual(["issues"]);
  } else {
    expect(error.code).toBe(-32_603);
    expect(Object.keys(error.data ?? {})).toEqual(["reason"]);
    expect(error.data?.reason).toMatch(closedReasons);
    expect(error.data?.reason).not.toBe("internal");
  }
};

verifies(
  ["MGT-60", "MGT-61", "MGT-62"],
  "two thousand damaged tool calls are all answered closed",
  async () => {
    const args = fc.oneof(
      { weight: 5, arbitrary: fc.dictionary(fields, hostile, { maxKeys: 5 }) as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: hostile },
    );
    const name = fc.oneof(
      { weight: 12, arbitrary: names as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: leaf },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(1), name, args), { minLength: 8, maxLength: 8 }),
        async (calls) => {
          const answers = calls.map(([which, tool, argument]) => {
            const port = (endpoints[which] as TestEndpoint).port;
            // A header cannot carry every text; then the call has none and is checked without one.
            const plain = typeof tool === "string" && /^[!-~]+$/.test(tool);
            return RawHttp.callTool(port, plain || typeof tool !== "string" ? tool : "status", argument);
          });
          for (const answer of await Promise.all(answers)) check(answer);
        },
      ),
      { numRuns: 250 },
    );
    for (const { log } of endpoints) expect(log.filter(({ level }) => level === "error")).toEqual([]);
  },
);

verifies("MGT-65", "C75: depth 10,000 and a million indices are refused with at most 20 issues", async () => {
  const port = (endpoints[1] as TestEndpoint).port;
  const deep = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  const deepObject = (depth: number): string => '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
  const million = `[${"0,".repeat(999_999)}0]`;
  const members = `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`;
  const calls: ReadonlyArray<readonly [string, string]> = [
    ["read_inbox", deep(10_000)],
    ["read_inbox", `{"cursor":${deep(10_000)}}`],
    ["read_inbox", `{"cursor":${deepObject(10_000)}}`],
    ["send_message", `{"input":{"to":"agent:bob","text":${deep(10_000)}}}`],
    ["send_message", `{"input":${deep(1_000_000)}}`],
    ["read_inbox", million],
    ["read_event", `{"eventId":${million}}`],
    ["send_message", `{"input":{"to":${million},"text":${million.slice(0, 1_000_000)}]}}`],
    ["status", members],
    ["send_message", `{"input":${members}}`],
  ];
  for (const [name, text] of calls) {
    const message = JSON.stringify(RawHttp.message("tools/call", { name, arguments: "@" }));
    const answer = await RawHttp.send(port, {
      headers: RawHttp.headersOf("tools/call", name),
      body: message.replace('"@"', text),
    });
    expect(answer.body.error?.code).toBe(-32_602);
    check(answer);
  }
});
