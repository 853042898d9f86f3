import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { type EventId, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import type { OperationName } from "../../src/operations/OperationError.ts";
import * as RawHttp from "./RawHttp.ts";
import { groupItem, startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";
import { errorOf, everyTool, goodArguments, id } from "./ToolArguments.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

verifies(
  ["ING-20", "ING-22", "ING-24", "ING-25"],
  "the official client reads, acknowledges and reads again",
  async () => {
    const endpoint = await start();
    const client = await endpoint.client();
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })).structuredContent as Record<string, never>;
    const tokens = [endpoint.deliver(textItem("one")), endpoint.deliver(groupItem("two"))];
    const { items } = await call("read_inbox", {});
    expect(items).toEqual([
      { deliveryToken: tokens[0], item: textItem("one") },
      { deliveryToken: tokens[1], item: groupItem("two") },
    ]);
    expect(await call("acknowledge_delivery", { deliveryToken: tokens[0] })).toEqual({});
    expect(await call("acknowledge_delivery", { deliveryToken: tokens[0] })).toEqual({});
    expect((await call("read_inbox", {})).items).toHaveLength(1);
    const eventId: EventId = eventIdOf(tokens[0] as never);
    expect(await call("read_event", { eventId })).toEqual({ item: textItem("one") });
    expect(await errorOf(endpoint.port, "read_event")).toMatchObject({ data: { reason: "unknown-event" } });
    expect(await errorOf(endpoint.port, "acknowledge_delivery")).toMatchObject({
      data: { reason: "unknown-delivery" },
    });
  },
);

verifies(
  ["ING-26", "ING-29"],
  "a traversal over MCP sees everything once, and a made-up cursor is refused",
  async () => {
    const endpoint = await start();
    const tokens = Array.from({ length: 120 }, (_, i) => endpoint.deliver(textItem(`${i}`)));
    const client = await endpoint.client();
    const seen: Array<string> = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await client.callTool({
        name: "read_inbox",
        arguments: cursor === undefined ? {} : { cursor },
      });
      const { items, nextCursor } = page.structuredContent as {
        readonly items: ReadonlyArray<{ readonly deliveryToken: string }>;
        readonly nextCursor?: string;
      };
      seen.push(...items.map(({ deliveryToken }) => deliveryToken));
      cursor = nextCursor;
    }
    expect(seen).toEqual(tokens);
    for (const cursor of ["", "x", "A".repeat(64)]) {
      const error = await errorOf(endpoint.port, "read_inbox", { cursor });
      expect([error?.code, error?.data]).toEqual([-32_603, { reason: "invalid-continuation" }]);
    }
  },
);

verifies(
  "MGT-08",
  "results come structured, as the same JSON in text, and fit the output schema",
  async () => {
    const ajv = new AjvJsonSchemaValidator();
    const before = await start({ registered: false });
    const after = await start();
    after.deliver(textItem("one"));
    after.deliver(groupItem("two"));
    const check = async (endpoint: TestEndpoint, name: OperationName, args: unknown) => {
      const { result = {} } = (await RawHttp.callTool(endpoint.port, name, args)).body;
      const [content] = result.content as ReadonlyArray<{ readonly type: string; readonly text: string }>;
      expect([content?.type, JSON.parse(content?.text ?? "")]).toEqual(["text", result.structuredContent]);
      const tool = everyTool.find(({ face }) => face.name === name);
      const validate = ajv.getValidator(tool?.face.outputSchema as never);
      expect([name, validate(result.structuredContent)]).toMatchObject([name, { valid: true }]);
    };
    await check(before, "status", {});
    await check(before, "register", { ...goodArguments.register, agentName: "taken" });
    await check(before, "register", goodArguments.register);
    const token = after.deliver(textItem("three"));
    const calls: ReadonlyArray<readonly [OperationName, unknown]> = [
      ["status", {}],
      ["search_agents", { agentName: "bob" }],
      ["search_agents", { agentId: id("agt_", 16) }],
      ["search_agents", { prefix: "b" }],
      ["search_conversations", {}],
      ["read_conversation", { address: "agent:bob" }],
      ["send_message", { input: { to: "agent:bob", text: "hello" } }],
      ["read_inbox", {}],
      ["acknowledge_delivery", { deliveryToken: token }],
      ["read_event", { eventId: eventIdOf(token) }],
    ];
    for (const [name, args] of calls) await check(after, name, args);
  },
);
