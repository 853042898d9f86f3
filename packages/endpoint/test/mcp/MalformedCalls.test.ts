import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";
import { errorOf, goodArguments, id, issuesOf, pathsOf } from "./ToolArguments.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

verifies("MGT-61", "a defect of the call's envelope is reported with its place", async () => {
  const { port } = await start();
  const post = async (params: unknown, extra: Record<string, unknown> = {}) => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params, ...extra };
    const answer = await RawHttp.send(port, {
      headers: RawHttp.headersOf("tools/call", "status"),
      body: JSON.stringify(message),
    });
    expect(answer.body.error?.code).toBe(-32_602);
    const { issues } = (answer.body.error?.data ?? { issues: [] }) as {
      readonly issues: ReadonlyArray<{ readonly path: unknown }>;
    };
    return issues.map(({ path }) => path);
  };
  const named = { name: "status", _meta: RawHttp.meta };
  expect(await post({ ...named, arguments: [] })).toEqual([["arguments"]]);
  expect(await post({ ...named, arguments: null })).toEqual([["arguments"]]);
  expect(await post({ ...named, arguments: "x" })).toEqual([["arguments"]]);
  expect(await post({ name: "status" })).toEqual([["_meta"]]);
  expect(await post({ name: "status", _meta: [] })).toEqual([["_meta"]]);
  expect(
    await post({
      name: "status",
      _meta: { ...RawHttp.meta, "io.modelcontextprotocol/clientCapabilities": 5 },
    }),
  ).toEqual([["_meta", "io.modelcontextprotocol/clientCapabilities"]]);
  for (const params of [undefined, [], 5, "x"]) expect(await post(params)).toEqual([[]]);
  for (const name of [undefined, 5, null, {}]) {
    const error = (await RawHttp.callTool(port, name, {})).body.error;
    expect(error?.data).toEqual({ issues: [{ path: ["name"], message: "expected the name of a tool" }] });
  }
  // Arguments that are left out are none.
  expect((await RawHttp.callTool(port, "status")).body.result).toHaveProperty("structuredContent");
  const without = await RawHttp.callTool(port, "acknowledge_delivery");
  expect(without.body.error?.data).toEqual({ issues: [{ path: ["deliveryToken"], message: "is missing" }] });
});

verifies(
  "MGT-60",
  "malformed arguments are named with their path, all of them, and never repeated",
  async () => {
    const { port, sent } = await start();
    const secret = "do-not-repeat-me";
    expect(
      await pathsOf(port, "send_message", { input: { to: 5, collective: { op: secret } }, [secret]: 1 }),
    ).toEqual([[secret], ["input", "to"], ["input", "text"], ["input", "collective", "op"]]);
    expect(await pathsOf(port, "acknowledge_delivery", { deliveryToken: `dlv_${secret}` })).toEqual([
      ["deliveryToken"],
    ]);
    expect(await pathsOf(port, "read_inbox", { cursor: 5 })).toEqual([["cursor"]]);
    expect(await pathsOf(port, "status", { [secret]: secret })).toEqual([[secret]]);
    const values = await RawHttp.callTool(port, "search_agents", {
      agentName: secret.toUpperCase(),
      agentId: secret,
    });
    expect(values.text).not.toContain(secret);
    expect(values.text).not.toContain(secret.toUpperCase());
    expect((await RawHttp.callTool(port, "send_message", { input: { to: 5 } })).body.error?.message).toBe(
      "The arguments do not have the expected shape. input.to: expected a string; input.text: is missing.",
    );
    const beside = { agentName: "bob-agent", prefix: "b" };
    expect((await RawHttp.callTool(port, "search_agents", beside)).body.error?.message).toContain(
      "prefix: is not expected beside agentName: leave one of them out",
    );
    expect(sent).toEqual([]);
  },
);

verifies("ING-21", "an alias of an event id or token is malformed", async () => {
  const endpoint = await start();
  const token = endpoint.deliver(textItem("hello"));
  const eventId = eventIdOf(token);
  const last = eventId.at(-1) as string;
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  // The last character carries four bits of the id; the other two are zero in its one canonical spelling.
  const stray = alphabet[alphabet.indexOf(last) + 1] as string;
  const aliases = [
    eventId.slice(0, -1) + stray,
    `${eventId}=`,
    ` ${eventId}`,
    `${eventId}\n`,
    token,
    eventId.slice(4),
    eventId.slice(0, -1),
    eventId.toUpperCase(),
    "",
  ];
  for (const alias of aliases) {
    expect([alias, await pathsOf(endpoint.port, "read_event", { eventId: alias })]).toEqual([
      alias,
      [["eventId"]],
    ]);
  }
  for (const alias of [eventId, `${token}=`, token.slice(4)]) {
    expect(await pathsOf(endpoint.port, "acknowledge_delivery", { deliveryToken: alias })).toEqual([
      ["deliveryToken"],
    ]);
  }
});

verifies("MGT-26", "a malformed registration names the field and calls nobody", async () => {
  let called = 0;
  const { port } = await start({
    registered: false,
    overrides: {
      register: async () => {
        called += 1;
        return { kind: "name_taken" };
      },
    },
  });
  const damage: ReadonlyArray<readonly [string, unknown]> = [
    ["operationId", "opn_short"],
    ["operationId", id("prn_", 16)],
    ["principalId", `${id("prn_", 16)}=`],
    ["agentName", "Alice"],
    ["agentName", "al"],
    ["agentName", "a--b"],
    ["agentName", "аlice"],
    ["admission", "two words"],
    ["admission", "line\nend"],
    ["admission", ""],
  ];
  for (const [field, value] of damage) {
    expect(await pathsOf(port, "register", { ...goodArguments.register, [field]: value })).toEqual([[field]]);
  }
  expect(called).toBe(0);
});

verifies(
  "MGT-51",
  "an address and a continuation together, and either union half mixed, are malformed",
  async () => {
    const { port } = await start();
    expect(await pathsOf(port, "read_conversation", { address: "agent:bob", continuation: "x" })).toEqual([
      ["address"],
    ]);
    expect(
      await pathsOf(port, "read_conversation", { continuation: "x", afterRecordHash: id("rch_", 32) }),
    ).toEqual([["afterRecordHash"]]);
    expect(await pathsOf(port, "read_conversation", {})).toEqual([["address"]]);
    expect(await pathsOf(port, "search_agents", { agentId: id("agt_", 16), agentName: "bob" })).toEqual([
      ["agentName"],
    ]);
    expect(await pathsOf(port, "search_agents", { agentName: "bob", prefix: "b" })).toEqual([["prefix"]]);
  },
);

verifies("OPS-11", "an operation of another version is refused as malformed", async () => {
  const { port, sent } = await start();
  const to = "agent:bob";
  const text = "hello";
  const response = { to, collectiveResponse: { action: "decline" } };
  const [issue] = await issuesOf(port, "send_message", { input: response });
  expect(issue?.path).toEqual(["input", "collectiveResponse"]);
  expect(issue?.message).toMatch(/multicast/);
  const gather = { op: "gather", deadlineSeconds: 60, requestedSchema: {} };
  expect(await pathsOf(port, "send_message", { input: { to, text, collective: gather } })).toContainEqual([
    "input",
    "collective",
    "op",
  ]);
  expect(sent).toEqual([]);
});

verifies("OPS-02", "naming the multicast is the same as leaving it out", async () => {
  const { port, sent } = await start();
  const input = { to: "agent:bob", text: "hello" };
  await RawHttp.callTool(port, "send_message", { input, idempotencyKey: "k" });
  await RawHttp.callTool(port, "send_message", {
    input: { ...input, collective: { op: "multicast" } },
    idempotencyKey: "k",
  });
  expect(sent).toEqual([
    { ...input, idempotencyKey: "k" },
    { ...input, idempotencyKey: "k" },
  ]);
});

verifies("OPS-23", "an idempotency key has 1 to 128 UTF-8 bytes and no NUL", async () => {
  const { port, sent } = await start();
  const input = { to: "agent:bob", text: "hello" };
  const good = ["k", "x".repeat(128), "é".repeat(64), "𝄞".repeat(32), " "];
  for (const idempotencyKey of good) {
    expect(await errorOf(port, "send_message", { input, idempotencyKey })).toBeUndefined();
  }
  expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(good);
  for (const idempotencyKey of ["", "x".repeat(129), "é".repeat(65), "a\0b", "\ud800", 5, null]) {
    expect(await pathsOf(port, "send_message", { input, idempotencyKey })).toEqual([["idempotencyKey"]]);
  }
});

verifies(
  ["OPS-08", "OPS-09", "MGT-63"],
  "C68 and C75: content that cannot be sent keeps its reason",
  async () => {
    const { port, sent } = await start();
    const send = (text: string) => errorOf(port, "send_message", { input: { to: "agent:bob", text } });
    const good = ["", "x", "x".repeat(262_117), "\u0001", "🦊 \u202e שלום", "é".repeat(131_058)];
    for (const text of good) expect(await send(text)).toBeUndefined();
    expect(sent.map(({ text }) => text)).toEqual(good);
    const bad = ["x".repeat(262_118), "\ud800", "a\udc00b", "\u0001".repeat(43_687), "é".repeat(131_059)];
    for (const text of bad) {
      const error = await send(text);
      expect([error?.code, error?.data]).toEqual([
        -32_602,
        {
          reason: "content-invalid",
          issues: [
            { path: ["input", "text"], message: "expected well-formed text of at most 262117 bytes in JSON" },
          ],
        },
      ]);
    }
    expect(sent).toHaveLength(good.length);
  },
);
