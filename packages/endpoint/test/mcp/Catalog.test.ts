import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import { startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";
import * as RawHttp from "./RawHttp.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

const before = ["register", "status"];
const after = [
  "status",
  "search_agents",
  "search_conversations",
  "read_conversation",
  "send_message",
  "read_inbox",
  "acknowledge_delivery",
  "read_event",
];
const id = (prefix: string, byteCount: number): string =>
  prefix + Buffer.alloc(byteCount, 1).toString("base64url");
const registration = { operationId: id("opn_", 16), principalId: id("prn_", 16), agentName: "alice" };

const listed = async ({ port }: TestEndpoint) =>
  (await RawHttp.rpc(port, "tools/list")).body.result as {
    readonly tools: ReadonlyArray<Record<string, never>>;
    readonly ttlMs: number;
    readonly cacheScope: string;
  };

verifies("MGT-03", "the catalog is register and status, and then exactly the eight", async () => {
  const endpoint = await start({ registered: false });
  const client = await endpoint.client();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(before);
  const { structuredContent } = await client.callTool({ name: "register", arguments: registration });
  expect(structuredContent).toMatchObject({ kind: "registered" });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(after);
  const { ttlMs, cacheScope } = await listed(endpoint);
  expect([ttlMs, cacheScope]).toEqual([0, "private"]);
});

verifies("MGT-04", "a tool of the other state is as unknown as one that never was", async () => {
  const unregistered = await start({ registered: false });
  const registered = await start();
  const unknownAt = async (port: number) => (await RawHttp.callTool(port, "no_such_tool", {})).body.error;
  const unknownBefore = await unknownAt(unregistered.port);
  const message = "expected one of your tools: register, status before this endpoint's agent is registered";
  expect(unknownBefore).toEqual({
    code: -32_602,
    message: `Unknown tool. name: ${message}.`,
    data: { issues: [{ path: ["name"], message }] },
  });
  for (const name of after.filter((tool) => tool !== "status")) {
    expect((await RawHttp.callTool(unregistered.port, name, {})).body.error).toEqual(unknownBefore);
  }
  const unknown = await unknownAt(registered.port);
  for (const name of ["register", "__proto__", "constructor", "toString", ""]) {
    expect((await RawHttp.callTool(registered.port, name, registration)).body.error).toEqual(unknown);
  }
});

verifies("MGT-05", "the capabilities are tools with list changes, and events", async () => {
  for (const registered of [true, false]) {
    const { port } = await start({ registered });
    const result = (await RawHttp.rpc(port, "server/discover")).body.result;
    expect(result?.capabilities).toEqual({ tools: { listChanged: true }, events: {} });
    expect(result?.supportedVersions).toEqual(["2026-07-28"]);
    expect(result?.instructions).toMatch(/never an instruction/);
  }
});

verifies("MGT-08", "every tool says what it does and takes a closed object", async () => {
  const { tools } = await listed(await start());
  const first = await listed(await start({ registered: false }));
  for (const tool of [...tools, ...first.tools]) {
    const { name, description, inputSchema, outputSchema, annotations } = tool as unknown as {
      readonly name: string;
      readonly description: string;
      readonly annotations: Record<string, unknown>;
      readonly inputSchema: Record<string, unknown>;
      readonly outputSchema: Record<string, unknown>;
    };
    expect([name, description.length > 40]).toEqual([name, true]);
    for (const schema of [inputSchema, outputSchema]) {
      expect([name, schema.type, schema.additionalProperties]).toEqual([name, "object", false]);
      for (const union of ["anyOf", "oneOf", "allOf"]) expect(schema).not.toHaveProperty(union);
    }
    expect(Object.keys(annotations).toSorted()).toEqual([
      "destructiveHint",
      "idempotentHint",
      "openWorldHint",
      "readOnlyHint",
      "title",
    ]);
  }
});

verifies(
  "MGT-09",
  "no tool takes a conversation id, and none returns one outside a record core",
  async () => {
    const { tools } = await listed(await start());
    for (const { inputSchema, outputSchema } of tools) {
      expect(JSON.stringify([inputSchema, outputSchema])).not.toMatch(/cnv_|conversationId/i);
    }
  },
);

verifies("MGT-25", "C21: list-changed goes to those who listen for it, and to nobody else", async () => {
  const endpoint = await start({ registered: false });
  const heard: Array<string> = [];
  const listenerOf = async (name: string) => {
    const client = new Client(
      { name, version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    client.setNotificationHandler("notifications/tools/list_changed", () => void heard.push(name));
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint.url)));
    return client;
  };
  const listening = await listenerOf("listens");
  const deaf = await listenerOf("does not");
  const subscription = await listening.listen({ toolsListChanged: true });
  const elsewhere = await RawHttp.stream(endpoint.port, "subscriptions/listen", {
    notifications: { promptsListChanged: true },
  });
  expect((await elsewhere.next())?.method).toBe("notifications/subscriptions/acknowledged");
  expect((await elsewhere.next())?.result).toMatchObject({ resultType: "complete" });

  const raw = await RawHttp.stream(endpoint.port, "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  expect((await raw.next())?.method).toBe("notifications/subscriptions/acknowledged");
  endpoint.activate();
  const changed = await raw.next();
  expect(changed?.method).toBe("notifications/tools/list_changed");
  expect(changed?.params?.["_meta"]).toEqual({ "io.modelcontextprotocol/subscriptionId": 1 });
  expect((await listening.listTools()).tools.map(({ name }) => name)).toEqual(after);
  expect((await deaf.listTools()).tools.map(({ name }) => name)).toEqual(after);
  expect(heard).toEqual(["listens"]);
  raw.leave();
  await subscription.close();
  await listening.close();
  await deaf.close();
});

verifies("MGT-13", "C16: a client goes on over a restart without doing anything", async () => {
  const first = await start();
  const client = new Client(
    { name: "stays", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(first.url)));
  const status = () => client.callTool({ name: "status", arguments: {} });
  const atFirst = await status();
  for (let i = 0; i < 3; i++) {
    await endpoints.pop()?.close();
    await start({ port: first.port });
    expect(await status()).toEqual(atFirst);
  }
  const raw = await RawHttp.callTool(first.port, "status", {});
  expect(raw.headers).not.toHaveProperty("mcp-session-id");
  await client.close();
});
