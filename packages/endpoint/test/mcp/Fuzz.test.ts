// A hundred thousand damaged tool calls over real HTTP, 32 at a time. Whatever is wrong, the answer is closed: malformed with
// its issues, an expected failure with its reason, or the transport's own 4xx for what is no call; never a 5xx, a submitted
// value or a word about the inside, and nothing is kept of any of them.

import process from "node:process";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as Damage from "./Damage.ts";
import { keptBytes, openSockets } from "./Heap.ts";
import * as RawConnection from "./RawConnection.ts";
import * as RawHttp from "./RawHttp.ts";
import { type LogLine, startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";

/** `FUZZ_SEED` and `FUZZ_CALLS` run other calls, and more of them. */
const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const callCount = Number(process.env["FUZZ_CALLS"] ?? 100_000);
const inFlight = 32;

const endpoints: Array<TestEndpoint> = [];
beforeAll(async () => {
  // Calls that happen to be right change nothing, so that each of the hundred thousand meets the same endpoint.
  const overrides = {
    register: async () => ({ kind: "name_taken" }) as const,
    sendMessage: async () => ({ status: "certified", postId: "pst_", operationId: "opn_" }) as never,
  };
  endpoints.push(await startEndpoint({ registered: false, overrides }), await startEndpoint({ overrides }));
  endpoints[1]?.deliver(textItem("hello"));
});
afterAll(async () => {
  for (const endpoint of endpoints) await endpoint.close();
});

interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

const inside = /\bat .*\.ts:|SELECT |node_modules|Error:/;
const closedReasons = /^[a-z]+(-[a-z]+)*$/;
const transportCodes = new Set([-32_700, -32_600, -32_020, -32_022, -32_601, -32_000]);

const areIssues = (issues: unknown): boolean =>
  Array.isArray(issues) &&
  issues.length >= 1 &&
  issues.length <= 20 &&
  issues.every(
    (issue: { readonly path: unknown; readonly message: unknown }) =>
      Array.isArray(issue.path) && typeof issue.message === "string",
  );

/** An answer has its request's id, whatever that is. */
const repeatsValue = (text: string): boolean => {
  const { id: _, ...rest } = JSON.parse(text) as { readonly id: unknown };
  return JSON.stringify(rest).includes(Damage.canary);
};

/** What is wrong with an answer, or null. */
const complaintOf = (
  { isCall }: Damage.DamagedCall,
  { status, text }: RawConnection.RawAnswer,
): string | null => {
  if (status === 202) return isCall ? "a call was taken for a notification" : null;
  if (status >= 500) return "a 5xx";
  if (text.includes(Damage.canary) && repeatsValue(text)) return "a value is repeated";
  if (inside.test(text)) return "a word about the inside";
  const { error } = JSON.parse(text) as { readonly error?: JsonRpcError };
  if (error === undefined) return status === 200 ? null : "no error beside a refusal";
  const { code, data = {} } = error;
  const keys = Object.keys(data);
  if (code === -32_602) {
    const isClosed = keys.every((key) => key === "issues" || key === "reason");
    return isClosed && areIssues(data["issues"]) ? null : "malformed, without its issues";
  }
  if (code === -32_603) {
    const { reason } = data;
    const isExpected = keys.length === 1 && typeof reason === "string" && closedReasons.test(reason);
    return isExpected && reason !== "internal" ? null : "a failure that is not an expected one";
  }
  return !isCall && status >= 400 && transportCodes.has(code)
    ? null
    : "an error of no kind that was promised";
};

const forgetLog = ({ log }: TestEndpoint): ReadonlyArray<LogLine> => (log as Array<LogLine>).splice(0);

verifies(
  ["MGT-60", "MGT-61", "MGT-62", "MGT-148"],
  "a hundred thousand damaged tool calls are all answered closed, and nothing of them is kept",
  async () => {
    const random = createRandom(seed);
    const complaints: Array<unknown> = [];
    const outcomes = new Map<string, number>();
    const sockets = openSockets();
    let made = 0;
    const run = async (until: number): Promise<void> => {
      const lane = async (index: number): Promise<void> => {
        const { port } = endpoints[index % 2] as TestEndpoint;
        let connection = await RawConnection.open(port);
        while (made < until && complaints.length < 10) {
          made += 1;
          const call = Damage.make(random);
          const answer = await connection.post(call.headers, call.body);
          const complaint = complaintOf(call, answer);
          if (complaint !== null)
            complaints.push({ seed, complaint, call: String(call.body).slice(0, 2_000), answer });
          const kind = /"code":(-\d+)/.exec(answer.text)?.[1] ?? String(answer.status);
          outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
          if (!/^connection: close\r?$/im.test(answer.head)) continue;
          connection.close();
          connection = await RawConnection.open(port);
        }
        connection.close();
      };
      await Promise.all(Array.from({ length: inFlight }, (_, index) => lane(index)));
      for (const endpoint of endpoints) {
        const alarms = forgetLog(endpoint).filter(({ level }) => level !== "info");
        expect([seed, alarms]).toEqual([seed, []]);
      }
    };
    await run(callCount / 10);
    const early = await keptBytes();
    await run(callCount);
    const grown = (await keptBytes()) - early;
    expect(complaints).toEqual([]);
    expect(made).toBe(callCount);
    expect(grown).toBeLessThan(2_000_000);
    expect(openSockets()).toBeLessThanOrEqual(sockets);
    // The damage is of every kind: each answer that there can be was given, and most calls were refused for what they are.
    expect([...outcomes.keys()].toSorted()).toEqual(
      ["-32020", "-32600", "-32602", "-32603", "-32700", "200"].toSorted(),
    );
    expect(outcomes.get("-32602")).toBeGreaterThan(callCount / 2);
  },
  600_000,
);

const expectClosed = (answer: RawHttp.Answer): void => {
  const { status, text } = answer;
  expect(complaintOf({ headers: {}, body: "", isCall: true }, { status, head: "", text })).toBeNull();
};

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
    expectClosed(answer);
  }
});
