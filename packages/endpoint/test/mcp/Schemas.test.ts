// What a tool advertises against what it does: arguments that it accepts fit its input schema, results fit its output
// schema, and where the schema can say everything the two agree on every value.

import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { McpError } from "../../src/mcp/McpError.ts";
import type { Tool } from "../../src/mcp/Tool.ts";
import type { Operations } from "../../src/operations/Operations.ts";
import { everyTool } from "./ToolArguments.ts";

const tools = new Map(everyTool.map((tool) => [tool.face.name, tool] as const));
const ajv = new AjvJsonSchemaValidator();

const isAdvertised = ({ face }: Tool) => {
  const validate = ajv.getValidator(face.inputSchema as never);
  return (args: unknown): boolean => validate(args).valid;
};

/** Operations that take whatever was decoded: a tool that reaches them has accepted its arguments. */
const accepting = new Proxy({} as Operations, { get: () => () => ({}) });

const isAccepted = async (tool: Tool, args: unknown): Promise<boolean> => {
  try {
    await tool.call(accepting, args, new AbortController().signal);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(McpError);
    return false;
  }
};

const id = (prefix: string, byteCount: number) =>
  fc
    .uint8Array({ minLength: byteCount, maxLength: byteCount })
    .map((bytes) => prefix + Buffer.from(bytes).toString("base64url"));
const name = fc.constantFrom("bob", "a-1", "abc", "x".repeat(32), "agent-32-of-a-large-group");
const good: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  operationId: id("opn_", 16),
  principalId: id("prn_", 16),
  agentId: id("agt_", 16),
  agentName: name,
  afterAgentName: name,
  prefix: fc.constantFrom("a", "a-", "x".repeat(32)),
  admission: fc.constantFrom("adm_x", "secret"),
  afterAddress: fc.string(),
  address: fc.string(),
  afterRecordHash: id("rch_", 32),
  continuation: fc.string(),
  cursor: fc.string(),
  deliveryToken: id("dlv_", 32),
  eventId: id("evt_", 32),
  holdId: id("hld_", 16),
  afterHoldId: id("hld_", 16),
  idempotencyKey: fc.string({ minLength: 1, maxLength: 40 }).filter((key) => !key.includes("\0")),
  input: fc.oneof(
    { weight: 4, arbitrary: fc.record({ to: fc.string(), text: fc.string() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        to: fc.string(),
        text: fc.string(),
        collective: fc.constant({ op: "multicast" }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record(
        {
          to: fc.string(),
          text: fc.nat(),
          collectiveResponse: fc.constant({ action: "decline" }),
          other: fc.nat(),
        },
        { requiredKeys: [] },
      ),
    },
  ),
};
/** The alternatives of the unions that stand as optional fields. */
const arms: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  search_agents: [["agentId"], ["agentName"], ["prefix", "afterAgentName"]],
  read_conversation: [["address", "afterRecordHash"], ["continuation"]],
};
const bad = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    "",
    "agt_",
    "dlv_AAAA",
    "Bob",
    "a--b",
    "-a",
    "ab",
    "x".repeat(33),
    "a b",
    "é",
    `evt_${"A".repeat(42)}B`,
    `dlv_${"A".repeat(43)}=`,
    `evt_${"A".repeat(43)}\n`,
    null,
    0,
    [],
  ),
);

/** Arguments near what a tool takes: its own fields with good and bad values, some missing, some too many. */
const argumentsOf = (tool: Tool): fc.Arbitrary<unknown> => {
  const fields = Object.keys(tool.face.inputSchema.properties);
  const values = Object.fromEntries(
    fields.map((field) => [
      field,
      fc.oneof({ weight: 6, arbitrary: good[field] ?? fc.nat() }, { weight: 1, arbitrary: bad }),
    ]),
  );
  const near = fc.record({ ...values, excess: fc.nat() }, { requiredKeys: [] });
  const exact = (arms[tool.face.name] ?? [fields]).map((arm) =>
    fc.record(Object.fromEntries(arm.map((field) => [field, values[field] ?? fc.nat()])), {
      requiredKeys: (tool.face.inputSchema.required ?? []) as Array<never>,
    }),
  );
  return fc.oneof(
    { weight: 5, arbitrary: fc.oneof(...exact) },
    { weight: 3, arbitrary: near },
    { weight: 1, arbitrary: bad },
  );
};

for (const [toolName, tool] of tools) {
  verifies("MGT-08", `${toolName} accepts nothing that its schema refuses`, async () => {
    const fits = isAdvertised(tool);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(argumentsOf(tool), async (args) => {
        if (!(await isAccepted(tool, args))) return;
        accepted += 1;
        expect([args, fits(args)]).toEqual([args, true]);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(20);
  });
}

const exactlyAdvertised = [
  "register",
  "status",
  "search_conversations",
  "read_inbox",
  "acknowledge_delivery",
  "read_event",
  "list_holds",
  "read_hold",
  "discard_hold",
  "release_hold",
] as const;
for (const toolName of exactlyAdvertised) {
  verifies("MGT-08", `${toolName} accepts everything that its schema allows`, async () => {
    const tool = tools.get(toolName) as Tool;
    const fits = isAdvertised(tool);
    await fc.assert(
      fc.asyncProperty(argumentsOf(tool), async (args) => {
        expect([args, await isAccepted(tool, args)]).toEqual([args, fits(args)]);
      }),
      { numRuns: 300 },
    );
  });
}
