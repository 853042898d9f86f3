// Conversation files: what is tolerated, and that what is not is named by its line.

import { describe, expect, test } from "vitest";
import { Failure } from "../../src/Failure.ts";
import * as Trace from "../../src/lab/Trace.ts";

const line = (value: object): string =>
  JSON.stringify({ from: "ada-agent", to: ["bob-agent"], text: "x", ...value });
const refusal = (text: string): string => {
  try {
    Trace.parse(text);
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
  throw new Error("it was accepted");
};

describe("a conversation file", () => {
  test("keeps text as it is and ignores what a recorder adds", () => {
    const text = 'a\n"b"\u0000 שלום 🎈 e\u0301';
    const { lines, names } = Trace.parse(`${line({ seq: 7, createdAt: "2026-01-01T00:00:00Z", text })}\n`);
    expect(lines).toEqual([{ number: 1, from: "ada-agent", recipients: ["bob-agent"], text }]);
    expect(names).toEqual(["ada-agent", "bob-agent"]);
  });

  test("may be empty, have blank lines and Windows line ends", () => {
    expect(Trace.parse("").lines).toEqual([]);
    expect(Trace.parse("\n  \n").names).toEqual([]);
    const { lines } = Trace.parse(`\ufeff${line({})}\r\n\r\n${line({ text: "" })}`);
    expect(lines.map(({ number, text }) => [number, text])).toEqual([
      [1, "x"],
      [3, ""],
    ]);
  });

  test("names a recipient once, and not the sender", () => {
    const { lines } = Trace.parse(line({ to: ["cyd-agent", "bob-agent", "cyd-agent", "ada-agent"] }));
    expect(lines[0]?.recipients).toEqual(["bob-agent", "cyd-agent"]);
  });

  test("takes 31 recipients and refuses 32", () => {
    const to = (count: number) => Array.from({ length: count }, (_, at) => `agent-${at}`);
    expect(Trace.parse(line({ to: to(31) })).names).toHaveLength(32);
    expect(refusal(line({ to: to(32) }))).toBe("line 1: 33 members; a conversation has at most 32");
  });

  test("takes a text of the largest content and refuses one byte more", () => {
    expect(Trace.parse(line({ text: "a".repeat(262_117) })).lines).toHaveLength(1);
    expect(refusal(line({ text: "a".repeat(262_118) }))).toContain("line 1: the text makes 262145 bytes");
  });

  test.each([
    ["not JSON", "{", "line 2: not JSON"],
    ["an array", "[]", 'line 2: "from" must be'],
    ["no text", '{"from":"ada-agent","to":["bob-agent"]}', 'line 2: "from" must be'],
    ["a text that is no string", line({ text: 3 }), 'line 2: "from" must be'],
    ["one recipient as a string", line({ to: "bob-agent" }), 'line 2: "from" must be'],
    ["nobody", line({ to: [] }), 'line 2: "from" must be'],
    ["only the sender", line({ to: ["ada-agent"] }), 'line 2: "to" names nobody but the sender'],
    [
      "a capital in a name",
      line({ from: "Ada-agent" }),
      'line 2: "from" has "Ada-agent", which is no agent name',
    ],
    ["a short name", line({ to: ["ab"] }), 'line 2: "to" has "ab"'],
    [
      "half a surrogate pair",
      line({}).replace('"x"', String.raw`"\ud800"`),
      "line 2: the text cannot be sent",
    ],
  ])("names the line of %s", (_, bad, message) => {
    expect(refusal(`${line({})}\n${bad}\n${line({})}`)).toContain(message);
  });

  test("has a bound on its agents", () => {
    const pairs = Array.from({ length: 33 }, (_, at) => line({ from: `from-${at}`, to: [`to-${at}`] }));
    expect(refusal(pairs.join("\n"))).toContain("66 agents; replay runs at most 64");
  });
});
