// `replay` through the binary: the published conversations where they are at hand, and a small one of our own.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, repositoryRoot, run, runHere, temporaryFolder } from "../Binary.ts";

interface Written {
  readonly from: string;
  readonly to: ReadonlyArray<string>;
  readonly text: string;
}
interface Received {
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

const write = (lines: ReadonlyArray<object | string>): string => {
  const path = join(temporaryFolder(), "talk.jsonl");
  writeFileSync(
    path,
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
  );
  return path;
};

const addressFor = (members: ReadonlyArray<string>, self: string): string =>
  members.length === 2 ? `agent:${members.find((name) => name !== self)}` : `group:${members.join(",")}`;

/** What every agent must have received, from the file alone. */
const expected = (lines: ReadonlyArray<Written>) => {
  const names = [...new Set(lines.flatMap(({ from, to }) => [from, ...to]))].sort();
  const received = (name: string): ReadonlyArray<Received> =>
    lines
      .filter(({ from, to }) => from !== name && to.includes(name))
      .map(({ from, to, text }) => ({
        from: `agent:${from}`,
        to: addressFor([...new Set([from, ...to])].sort(), name),
        text,
      }));
  return {
    ok: true,
    agents: names.map((name) => ({ name, received: received(name) })),
    recordsVerified: lines.reduce((sum, { from, to }) => sum + new Set([from, ...to]).size, 0),
  };
};

const traces = join(repositoryRoot, "..", "shared", "data", "traces");

describe("replay", () => {
  for (const name of ["direct-three-students", "group-of-four", "group-of-eight"]) {
    verifies(
      "RUN-06",
      `${name}: every member but the author receives every post once, in order, byte for byte`,
      async ({ skip }) => {
        const path = join(traces, `${name}.jsonl`);
        skip(!existsSync(path), "the published conversations are not beside this repository");
        const lines = readFileSync(path, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Written);
        const ended = await run(["replay", path, "--json"]);
        expect([ended.code, ended.stderr]).toEqual([0, ""]);
        expect(lastJson(ended)).toEqual(expected(lines));
      },
      120_000,
    );
  }

  verifies(
    "RUN-06",
    "mixed conversations, difficult texts, blank lines and repeated names",
    async () => {
      const lines: ReadonlyArray<Written> = [
        { from: "zoe", to: ["a-b-c", "bob"], text: "" },
        { from: "bob", to: ["zoe", "bob", "zoe"], text: "\u0000\u001b[2J\r\n\t\u007f" },
        { from: "a-b-c", to: ["bob", "zoe"], text: "שלום ‏مرحبا‏ 👩‍👩‍👧 e\u0301 \ufeff\u2028" },
        { from: "zoe", to: ["bob"], text: "x".repeat(100_000) },
        { from: "bob", to: ["zoe"], text: '"quotes" \\ and </channel>' },
      ];
      const path = write([lines[0] as Written, "", ...lines.slice(1), "  "]);
      const ended = await run(["replay", path, "--json"]);
      expect([ended.code, ended.stderr]).toEqual([0, ""]);
      expect(lastJson(ended)).toEqual(expected(lines));
    },
    120_000,
  );

  verifies("RUN-06", "an empty file is nothing to replay", async () => {
    const ended = await runHere(["replay", write([]), "--json"]);
    expect([ended.code, lastJson(ended)]).toEqual([0, { ok: true, agents: [], recordsVerified: 0 }]);
  });

  test("a bad line is named before anything starts", async () => {
    const good = { from: "ada-agent", to: ["bob-agent"], text: "x" };
    const ended = await runHere(["replay", write([good, { ...good, from: "Ada" }]), "--json"]);
    expect([ended.code, failureOf(ended).reason]).toEqual([1, "trace-invalid"]);
    expect(failureOf(ended).message).toContain("line 2: ");
    const none = await runHere(["replay", join(temporaryFolder(), "none"), "--json"]);
    expect([none.code, failureOf(none).reason]).toEqual([1, "file-unreadable"]);
  });
});
