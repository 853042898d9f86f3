// Names and addresses that look like others: homoglyphs, what has no width, what turns the direction of writing, full-width
// letters, trailing dots, twins in case. The grammar knows none of them, and says at which field.

import * as Address from "@social-harness/protocol/address/Address";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import { searchConversations } from "../../src/operations/History.ts";
import { chainOf, store } from "../operations/HistoryReader.ts";
import * as RawHttp from "./RawHttp.ts";
import { failing, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";
import { errorOf, goodArguments, issuesOf } from "./ToolArguments.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

/** All of them read "alice" or "alice-1" to a hurried eye. */
const lookAlikes: Readonly<Record<string, string>> = {
  "Cyrillic a": "\u0430lice",
  "Greek iota": "al\u03b9ce",
  "dotless i": "al\u0131ce",
  "zero-width space": "ali\u200bce",
  "zero-width joiner": "ali\u200dce",
  "word joiner": "alice\u2060",
  "soft hyphen": "ali\u00adce",
  "byte order mark": "\ufeffalice",
  "right-to-left override": "\u202eecila",
  "first strong isolate": "\u2068alice\u2069",
  "variation selector": "alice\ufe0f",
  "full-width": "\uff41\uff4c\uff49\uff43\uff45",
  "mathematical bold": "\u{1d41a}\u{1d425}\u{1d422}\u{1d41c}\u{1d41e}",
  "combining accent": "alice\u0301",
  "no-break hyphen": "alice\u20111",
  "en dash": "alice\u20131",
  "trailing dot": "alice.",
  "leading dot": ".alice",
  "upper case": "Alice",
  "all upper case": "ALICE",
  "trailing space": "alice ",
  "line feed": "alice\n",
  "no-break space": "alice\u00a0",
  NUL: "alice\0",
  "tag letters": "alice\u{e0061}",
  "double dash": "alice--1",
  "trailing dash": "alice-",
};

const expectNamed = async (
  port: number,
  tool: "register" | "search_agents",
  args: object,
  field: string,
): Promise<void> => {
  const issues = await issuesOf(port, tool, args);
  expect(issues.map(({ path }) => path)).toEqual([[field]]);
};

verifies("MGT-114", "C67: no look-alike of a name is registered, and the issue names the field", async () => {
  let asked = 0;
  const register = () => {
    asked += 1;
    return failing("persistence-failed")();
  };
  const { port } = await start({ registered: false, overrides: { register } });
  for (const [what, agentName] of Object.entries(lookAlikes)) {
    const { text } = await RawHttp.callTool(port, "register", { ...goodArguments.register, agentName });
    expect([what, text.includes(agentName)]).toEqual([what, false]);
    await expectNamed(port, "register", { ...goodArguments.register, agentName }, "agentName");
  }
  expect(asked).toBe(0);
});

verifies("MGT-114", "C67: no look-alike is searched for, by name, by prefix or as a bound", async () => {
  let asked = 0;
  const searchAgents = () => {
    asked += 1;
    return failing("dependency-unavailable")();
  };
  const { port } = await start({ overrides: { searchAgents } });
  for (const [what, name] of Object.entries(lookAlikes)) {
    await expectNamed(port, "search_agents", { agentName: name }, "agentName");
    await expectNamed(port, "search_agents", { afterAgentName: name }, "afterAgentName");
    // A prefix may end anywhere in a name, so a dash may be its last character.
    if (!what.includes("dash") || what === "en dash")
      await expectNamed(port, "search_agents", { prefix: name }, "prefix");
  }
  expect(asked).toBe(0);
});

verifies("MGT-114", "C67: no look-alike of an address is read, searched after or sent to", async () => {
  const { db, read } = store(chainOf(["ann", "alice"], 1), 1);
  const { port } = await start({
    overrides: {
      readConversation: read,
      searchConversations: ({ afterAddress }) => searchConversations(db, afterAddress),
    },
  });
  expect(await errorOf(port, "read_conversation", { address: "agent:alice" })).toBeUndefined();
  for (const [what, name] of Object.entries(lookAlikes)) {
    for (const address of [`agent:${name}`, `group:alice,ann,${name}`]) {
      expect([what, Address.resolveInput(address, "ann" as AgentName)]).toEqual([what, "invalid-address"]);
      for (const error of [
        await errorOf(port, "read_conversation", { address }),
        await errorOf(port, "search_conversations", { afterAddress: address }),
      ]) {
        expect([what, error?.data]).toEqual([what, { reason: "invalid-address" }]);
        expect(error?.message).not.toContain(name);
      }
    }
  }
});
