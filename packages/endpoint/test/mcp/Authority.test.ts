// Who may do what: the whole table of modes, callers and states of registration, cell by cell, through the official client
// and through plain HTTP.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, describe, expect } from "vitest";
import type { OperationName } from "../../src/operations/OperationError.ts";
import type { Mode } from "../../src/state/Configuration.ts";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, runtimeToken, startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";
import { everyTool, goodArguments } from "./ToolArguments.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

const subscriptions = ["event_subscription_status", "revoke_event_subscription", "resume_event_subscription"];
const holds = ["list_holds", "read_hold", "discard_hold"];
const registered = [
  "status",
  "search_agents",
  "search_conversations",
  "read_conversation",
  "send_message",
  "read_inbox",
  "acknowledge_delivery",
  "read_event",
];

interface Row {
  readonly mode: Mode;
  readonly caller: string;
  readonly token: string | undefined;
  readonly before: ReadonlyArray<string>;
  readonly after: ReadonlyArray<string>;
  readonly hasStream: boolean;
  readonly isOwner: boolean;
}

const owner = {
  caller: "owner",
  token: ownerToken,
  before: ["register", "status", ...subscriptions],
  after: [...registered, ...subscriptions, ...holds],
  hasStream: true,
  isOwner: true,
};
const rows: ReadonlyArray<Row> = [
  {
    mode: "trusted-local",
    caller: "local",
    token: undefined,
    before: ["register", "status"],
    after: registered,
    hasStream: true,
    isOwner: false,
  },
  { mode: "trusted-local", ...owner },
  {
    mode: "credentials",
    caller: "runtime",
    token: runtimeToken,
    before: [],
    after: ["send_message", "read_event", "search_agents"],
    hasStream: false,
    isOwner: false,
  },
  { mode: "credentials", ...owner },
];

const strangers: ReadonlyArray<readonly [mode: Mode, who: string, authorization: string | null]> = [
  ["credentials", "no credential", null],
  ["credentials", "a wrong token", "Bearer wrong-token-wrong-token-wrong-token"],
  ["credentials", "an empty token", "Bearer "],
  ["credentials", "another scheme", `Basic ${ownerToken}`],
  ["credentials", "a bare token", ownerToken],
  ["credentials", "both tokens", `Bearer ${ownerToken} ${runtimeToken}`],
  ["trusted-local", "a wrong token", "Bearer wrong-token-wrong-token-wrong-token"],
  ["trusted-local", "the runtime's token", `Bearer ${runtimeToken}`],
];

/** The same for every name that is not the caller's: its own tools, and nothing of others. */
const unknownToolOf = (tools: ReadonlyArray<string>, isRegistered: boolean) => {
  const own =
    tools.length === 0 ? "there is no tool for you" : `expected one of your tools: ${tools.join(", ")}`;
  const message = isRegistered ? own : `${own} before this endpoint's agent is registered`;
  return {
    code: -32_602,
    message: `Unknown tool. name: ${message}.`,
    data: { issues: [{ path: ["name"], message }] },
  };
};
const runtimeUnknown = unknownToolOf(["send_message", "read_event", "search_agents"], true);
const toolNames: ReadonlyArray<string> = everyTool.map(({ face }) => face.name);
const argumentsOf = (name: string) => goodArguments[name as OperationName];
const namesOf = (listed: unknown): ReadonlyArray<string> =>
  (listed as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name);
const ownerPaths = [
  ["GET", "/healthz"],
  ["GET", "/readyz"],
  ["GET", "/metrics"],
  ["GET", "/evidence"],
  ["POST", "/rounds"],
  ["POST", "/withdrawals"],
  ["GET", "/webhook/attempts"],
  ["POST", "/webhook/test"],
] as const;
const event = "org.social-harness/inbox.pending";
const itemEvent = "org.social-harness/inbox.item";

describe.for(rows)("$mode, $caller", ({ mode, token, before, after, hasStream, isOwner }) => {
  const states = [
    [false, before],
    [true, after],
  ] as const;

  verifies(["MGT-03", "MGT-72"], "lists exactly its catalog, to each kind of client", async () => {
    for (const [isRegistered, tools] of states) {
      const endpoint = await start({ mode, registered: isRegistered });
      const client = await endpoint.client(token);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools);
      const listed = (await RawHttp.rpc(endpoint.port, "tools/list", {}, token)).body.result;
      expect(namesOf(listed?.tools)).toEqual(tools);
      expect([listed?.ttlMs, listed?.cacheScope]).toEqual([0, "private"]);
    }
  });

  verifies(["MGT-04", "MGT-73"], "can call what it is shown, and nothing else exists for it", async () => {
    for (const [isRegistered, tools] of states) {
      const endpoint = await start({ mode, registered: isRegistered });
      endpoint.deliver(textItem("stays"));
      const unknownTool = unknownToolOf(tools, isRegistered);
      for (const name of ["no_such_tool", "release_hold", "__proto__", ""]) {
        expect((await RawHttp.callTool(endpoint.port, name, {}, token)).body.error).toEqual(unknownTool);
      }
      // `register` last: afterwards the catalog is another.
      for (const name of toolNames.toSorted((a, b) => Number(a === "register") - Number(b === "register"))) {
        const { body } = await RawHttp.callTool(endpoint.port, name, argumentsOf(name), token);
        if (tools.includes(name)) expect([name, body.error]).not.toEqual([name, unknownTool]);
        else expect([name, body.error]).toEqual([name, unknownTool]);
      }
    }
  });

  verifies("MGT-72", "is told of no tool that it does not have", async () => {
    for (const [isRegistered, tools] of states) {
      const endpoint = await start({ mode, registered: isRegistered });
      const client = await endpoint.client(token);
      const discovered = (await RawHttp.rpc(endpoint.port, "server/discover", {}, token)).body.result;
      const instructions = discovered?.instructions as string;
      expect(client.getInstructions()).toBe(instructions);
      expect(discovered?.capabilities).toEqual({ tools: { listChanged: true }, events: {} });
      const words: ReadonlyArray<string> = instructions.match(/[a-z_]+/g) ?? [];
      for (const name of toolNames.filter((tool) => !tools.includes(tool))) {
        expect([name, words.includes(name)]).toEqual([name, false]);
      }
    }
  });

  verifies("MGT-74", "is offered the event that it can receive, and refused what it cannot", async () => {
    const endpoint = await start({ mode });
    const { port } = endpoint;
    const events = (await RawHttp.rpc(port, "events/list", {}, token)).body.result?.events;
    const hasWebhook = mode === "credentials";
    expect(namesOf(events)).toEqual([...(hasStream ? [event] : []), ...(hasWebhook ? [itemEvent] : [])]);
    if (hasStream) {
      const stream = await RawHttp.stream(port, "events/stream", { name: event }, 1, token);
      expect((await stream.next())?.method).toBe("notifications/events/active");
      stream.leave();
    } else {
      for (const params of [{ name: event }, { name: "another" }, {}]) {
        const { error } = (await RawHttp.rpc(port, "events/stream", params, token)).body;
        expect([error?.code, error?.data]).toEqual([-32_014, { feature: "stream" }]);
      }
    }
    const delivery = { mode: "webhook", url: "https://example.com", secret: "whsec_x" };
    const refusal = async (method: string, name: string) => {
      const { error } = (await RawHttp.rpc(port, method, { name, delivery }, token)).body;
      return [error?.code, error?.data];
    };
    const unsupported = [-32_014, { feature: "deliveryMode" }];
    for (const method of ["events/subscribe", "events/unsubscribe"]) {
      // To the runtime the pushed event does not exist; to the owner it does, and no webhook gets it.
      const pushed = hasWebhook && !hasStream ? [-32_011, { kind: "event" }] : unsupported;
      expect(await refusal(method, event)).toEqual(pushed);
      const answer = await refusal(method, itemEvent);
      if (hasWebhook) expect(answer[0]).not.toBe(-32_014);
      else expect(answer).toEqual(unsupported);
    }
    if (hasWebhook && hasStream) expect(await refusal("events/stream", itemEvent)).toEqual(unsupported);
  });

  verifies("MGT-80", "has the owner's paths if it is the owner, and is nobody there otherwise", async () => {
    const { port } = await start({ mode });
    for (const [method, path] of ownerPaths) {
      const answer = await RawHttp.send(port, { method, path, headers: RawHttp.bearer(token), body: "{}" });
      expect([path, answer.status === 401]).toEqual([path, !isOwner]);
      if (!isOwner) expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
    const readiness = await RawHttp.send(port, {
      method: "GET",
      path: "/readyz",
      headers: RawHttp.bearer(token),
    });
    expect(readiness.status).toBe(isOwner ? 200 : 401);
  });

  verifies("MGT-25", "hears that the catalog changed when the agent is registered", async () => {
    const endpoint = await start({ mode, registered: false });
    const heard = Promise.withResolvers<void>();
    const client = new Client(
      { name: "host", version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    client.setNotificationHandler("notifications/tools/list_changed", () => heard.resolve());
    await client.connect(
      new StreamableHTTPClientTransport(new URL(endpoint.url), {
        requestInit: { headers: RawHttp.bearer(token) },
      }),
    );
    const subscription = await client.listen({ toolsListChanged: true });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(before);
    endpoint.activate();
    await heard.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(after);
    await subscription.close();
    await client.close();
  });
});

describe.for(strangers)("%s, %s", ([mode, , authorization]) => {
  verifies(["MGT-07", "MGT-70"], "is 401 on every request, discovery included", async () => {
    const { port } = await start({ mode });
    const headers = authorization === null ? {} : { authorization };
    for (const method of [
      "server/discover",
      "tools/list",
      "tools/call",
      "subscriptions/listen",
      "events/list",
      "events/stream",
      "events/subscribe",
      "initialize",
      "nonsense",
    ]) {
      const answer = await RawHttp.send(port, {
        headers: { ...RawHttp.headersOf(method, method === "tools/call" ? "status" : undefined), ...headers },
        body: JSON.stringify(RawHttp.message(method, { name: "status", arguments: {} })),
      });
      expect([method, answer.status, answer.headers["www-authenticate"]]).toEqual([method, 401, "Bearer"]);
      expect(answer.body.error?.code).toBe(-32_000);
    }
    for (const [method, path] of [
      ...ownerPaths,
      ["GET", "/"],
      ["GET", "/.well-known/oauth-protected-resource"],
      ["GET", "/mcp"],
      ["OPTIONS", "/mcp"],
      ["POST", "/nowhere"],
    ] as const) {
      const answer = await RawHttp.send(port, { method, path, headers });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });
});

verifies("MGT-70", "the official client of a stranger is told 401", async () => {
  const { url } = await start({ mode: "credentials" });
  for (const token of [undefined, "wrong-token-wrong-token-wrong-token-wrong"]) {
    const client = new Client(
      { name: "stranger", version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    const refused = client
      .connect(
        new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers: RawHttp.bearer(token) },
        }),
      )
      .then(() => client.listTools());
    await expect(refused).rejects.toMatchObject({ status: 401 });
    await client.close();
  }
});

verifies("MGT-70", "a stranger is refused before it has sent a body, and is not asked for one", async () => {
  const { port } = await start({ mode: "credentials" });
  const head = (token: string | null, more: ReadonlyArray<string> = []): string =>
    [
      "POST /mcp HTTP/1.1",
      `host: 127.0.0.1:${port}`,
      "content-type: application/json",
      "content-length: 4000000",
      ...(token === null ? [] : [`authorization: Bearer ${token}`]),
      ...more,
    ].join("\r\n") + "\r\n\r\n";
  for (const token of [null, "wrong"]) {
    // Resolves with all that came once the server has closed; it waits for none of the four million bytes.
    expect(await RawHttp.raw(port, head(token))).toMatch(/^HTTP\/1\.1 401 /);
    expect(await RawHttp.raw(port, head(token, ["expect: 100-continue"]))).toMatch(/^HTTP\/1\.1 401 /);
  }
  expect(await RawHttp.raw(port, head(ownerToken, ["expect: 100-continue"]))).toMatch(/^HTTP\/1\.1 100 /);
});

verifies(["MGT-73", "MGT-80"], "runtime credential denial of raw history and owner operations", async () => {
  const endpoint = await start({ mode: "credentials" });
  const token = endpoint.deliver(textItem("private to its reader"));
  const denied = toolNames.filter((name) => !rows[2]?.after.includes(name));
  expect(denied).toHaveLength(13);
  const client = await endpoint.client(runtimeToken);
  for (const name of denied) {
    const args = name === "acknowledge_delivery" ? { deliveryToken: token } : argumentsOf(name);
    await expect(client.callTool({ name, arguments: args })).rejects.toMatchObject({
      code: -32_602,
      data: runtimeUnknown.data,
    });
  }
  for (const [method, path] of ownerPaths) {
    const headers = RawHttp.bearer(runtimeToken);
    const answer = await RawHttp.send(endpoint.port, { method, path, headers, body: "{}" });
    expect([path, answer.status, answer.body.error?.message]).toEqual([
      path,
      401,
      ["/healthz", "/readyz", "/metrics"].includes(path)
        ? "The token in metrics-token is needed, or the owner's."
        : "The owner's token is needed.",
    ]);
  }
  expect(endpoint.operations.pendingCount()).toBe(1);
});

verifies(["MGT-50", "MGT-73", "ING-22"], "adapter send/ack isolation", async () => {
  const endpoint = await start({ mode: "credentials" });
  const token = endpoint.deliver(textItem("to be handled"));
  const runtime = await endpoint.client(runtimeToken);
  const owned = await endpoint.client(ownerToken);
  const pending = () => endpoint.operations.pendingCount();

  // The runtime sends and reads what it was told of; neither takes anything out of the inbox, and it cannot.
  const text = "an answer";
  const sent = await runtime.callTool({
    name: "send_message",
    arguments: { input: { to: "agent:bob", text } },
  });
  expect(sent.structuredContent).toMatchObject({ status: "certified" });
  expect(endpoint.sent).toEqual([{ to: "agent:bob", text }]);
  const eventId = token.replace("dlv_", "evt_");
  const read = await runtime.callTool({ name: "read_event", arguments: { eventId } });
  expect(read.structuredContent).toEqual({ item: textItem("to be handled") });
  const acknowledge = { name: "acknowledge_delivery", arguments: { deliveryToken: token } };
  await expect(runtime.callTool(acknowledge)).rejects.toMatchObject({ data: runtimeUnknown.data });
  expect(pending()).toBe(1);

  // What the owner looks at sends nothing and acknowledges nothing.
  for (const name of [
    "status",
    "search_agents",
    "search_conversations",
    "read_conversation",
    "read_inbox",
    ...subscriptions,
  ] as const) {
    await owned.callTool({ name, arguments: argumentsOf(name) });
  }
  expect([pending(), endpoint.sent.length]).toEqual([1, 1]);

  // An acknowledgment carries nothing and sends nothing, and the event is still there for the runtime.
  expect((await owned.callTool(acknowledge)).structuredContent).toEqual({});
  expect([pending(), endpoint.sent.length]).toEqual([0, 1]);
  const again = await runtime.callTool({ name: "read_event", arguments: { eventId } });
  expect(again.structuredContent).toEqual(read.structuredContent);
});

verifies(
  ["MGT-76", "MGT-77", "MGT-78"],
  "the owner's subscription tools say that there is none, before and after registration",
  async () => {
    for (const mode of ["trusted-local", "credentials"] as const) {
      for (const isRegistered of [false, true]) {
        const endpoint = await start({ mode, registered: isRegistered });
        const client = await endpoint.client(ownerToken);
        for (const name of subscriptions) {
          const { structuredContent } = await client.callTool({ name, arguments: {} });
          expect([name, structuredContent]).toEqual([name, { kind: "none" }]);
          const malformed = await RawHttp.callTool(endpoint.port, name, { id: "sub_x" }, ownerToken);
          expect([malformed.body.error?.code, malformed.body.error?.data]).toEqual([
            -32_602,
            { issues: [{ path: ["id"], message: expect.any(String) as string }] },
          ]);
        }
      }
    }
  },
);
