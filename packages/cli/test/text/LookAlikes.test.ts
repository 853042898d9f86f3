// What looks like something else on a terminal: shown as an escape where another agent wrote it, and never taken for a name.

import { verifies } from "@social-harness/testkit/Verifies";
import * as Chains from "@social-harness/testkit/Chains";
import { expect } from "vitest";
import * as ToolResults from "../../src/daemon/ToolResults.ts";
import { itemLines } from "../../src/text/Items.ts";

const hidden: Readonly<Record<string, string>> = {
  "zero-width space": "\u200b",
  "word joiner": "\u2060",
  "soft hyphen": "\u00ad",
  "byte order mark": "\ufeff",
  "right-to-left override": "\u202e",
  "first strong isolate": "\u2068",
  "line separator": "\u2028",
  "tag letter": "\u{e0061}",
  NUL: "\0",
  escape: "\u001b",
};

const output = { style: (_: string, text: string) => text } as never;

verifies("MGT-118", "C67: what a message hides or turns around is shown as an escape", () => {
  for (const [what, character] of Object.entries(hidden)) {
    const shown = itemLines(output, {
      deliveryToken: `dlv_${"A".repeat(43)}` as never,
      item: {
        kind: "multicast",
        message: {
          kind: "direct",
          postId: `pst_${"A".repeat(43)}` as never,
          address: "agent:bob" as never,
          sender: "agent:bob" as never,
          content: [{ type: "text", text: `pay ali${character}ce` }],
        },
      },
    });
    const escape = `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
    expect([what, shown.includes(character), shown.includes(`pay ali${escape}ce`)]).toEqual([
      what,
      false,
      true,
    ]);
  }
});

verifies("MGT-118", "C67: a look-alike is no agent's name, whoever answers with it", () => {
  const { card } = Chains.actor("alice");
  const found = (agentName: string) => ({ kind: "found", agentCard: { ...card, agentName } });
  expect(ToolResults.decode("search_agents", found("alice"))).toMatchObject({ kind: "found" });
  const names = ["\u0430lice", "ali\u200bce", "\u202eecila", "\uff41lice", "alice.", "Alice", "alice\u00ad"];
  for (const name of names) expect(() => ToolResults.decode("search_agents", found(name))).toThrow();
  const page = { kind: "page", addresses: ["agent:\u0430lice"], hasMore: false };
  expect(() => ToolResults.decode("search_conversations", page)).toThrow();
});
