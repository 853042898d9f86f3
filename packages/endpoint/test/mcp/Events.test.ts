import { connect } from "node:net";
import { once } from "node:events";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import {
  failing,
  healthy,
  noConsumers,
  noOwner,
  startEndpoint,
  startSecret,
  type TestEndpoint,
  textItem,
} from "./TestEndpoint.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

const name = "org.social-harness/inbox.pending";
const open = ({ port }: TestEndpoint, id: unknown = 1, params: Record<string, unknown> = { name }) =>
  RawHttp.stream(port, "events/stream", params, id);
const subscriptionOf = (frame: RawHttp.Frame | null): unknown =>
  (frame?.params?.["_meta"] as Record<string, unknown> | undefined)?.[
    "io.modelcontextprotocol/subscriptionId"
  ];

verifies("ING-40", "events/list offers the one event, pushed", async () => {
  const { port } = await start();
  const { result } = (await RawHttp.rpc(port, "events/list")).body;
  expect(result?.events).toEqual([
    {
      name,
      description: expect.stringContaining("read_inbox") as string,
      delivery: ["push"],
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      payloadSchema: expect.objectContaining({ required: ["pendingCount"] }) as object,
    },
  ]);
  expect(result).not.toHaveProperty("nextCursor");
});

verifies(
  ["ING-40", "ING-48"],
  "another name, other arguments and webhooks are refused without a stream",
  async () => {
    const { port } = await start();
    const refusal = async (method: string, params: Record<string, unknown>) => {
      const answer = await RawHttp.rpc(port, method, params);
      expect(answer.headers["content-type"]).toMatch(/^application\/json/);
      const { code, data } = answer.body.error ?? {};
      return [code, data];
    };
    for (const other of ["org.social-harness/inbox.item", "", "__proto__"]) {
      expect(await refusal("events/stream", { name: other })).toEqual([-32_011, { kind: "event" }]);
    }
    const malformed: ReadonlyArray<readonly [Record<string, unknown>, ReadonlyArray<string>]> = [
      [{}, ["name"]],
      [{ name: 5 }, ["name"]],
      [{ name, arguments: { a: 1 } }, ["arguments", "a"]],
      [{ name, arguments: [] }, ["arguments"]],
      [{ name, cursor: "earlier" }, ["cursor"]],
      [{ name, more: 1 }, ["more"]],
    ];
    for (const [params, path] of malformed) {
      expect(await refusal("events/stream", params)).toEqual([
        -32_602,
        { issues: [{ path, message: expect.any(String) as string }] },
      ]);
    }
    const unsupported = [-32_014, { feature: "deliveryMode" }];
    const delivery = { mode: "webhook", url: "https://example.com", secret: "whsec_x" };
    expect(await refusal("events/subscribe", { name, arguments: {}, delivery })).toEqual(unsupported);
    expect(await refusal("events/subscribe", {})).toEqual(unsupported);
    expect(await refusal("events/unsubscribe", { name, delivery })).toEqual(unsupported);
  },
);

verifies(
  ["ING-41", "ING-42", "ING-45"],
  "a stream opens with active and announces nothing but the count",
  async () => {
    const endpoint = await start();
    endpoint.deliver(textItem("the words of this message"));
    for (const params of [{ name }, { name, arguments: {}, cursor: null, maxAgeMs: 5 }]) {
      const stream = await open(endpoint, "a string id", params);
      const active = await stream.next();
      expect(active).toEqual({
        jsonrpc: "2.0",
        method: "notifications/events/active",
        params: {
          cursor: null,
          truncated: false,
          _meta: { "io.modelcontextprotocol/subscriptionId": "a string id" },
        },
      });
      const event = await stream.next();
      expect(event?.method).toBe("notifications/events/event");
      expect(event?.params).toEqual({
        eventId: expect.stringMatching(/^occ_/) as string,
        name,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
        data: { pendingCount: 1 },
        cursor: null,
        _meta: { "io.modelcontextprotocol/subscriptionId": "a string id" },
      });
      stream.leave();
    }
    const stream = await open(endpoint);
    await stream.next();
    await stream.next();
    endpoint.deliver(textItem("more"));
    expect((await stream.next())?.params?.data).toEqual({ pendingCount: 2 });
    stream.leave();
  },
);

verifies(
  "ING-192",
  "a store that fails is an error frame, by its reason or as a defect, and the stream goes on",
  async () => {
    let answer: () => number = failing("persistence-failed");
    const endpoint = await start({ heartbeatMs: 20, overrides: { pendingCount: () => answer() } });
    const stream = await open(endpoint, "counting");
    const next = async (method: string) => {
      for (;;) {
        const frame = await stream.next();
        if (frame?.method !== "notifications/events/heartbeat") {
          expect(frame?.method).toBe(`notifications/events/${method}`);
          return frame?.params;
        }
      }
    };
    await next("active");
    expect(await next("error")).toEqual({
      error: {
        code: -32_603,
        message: expect.stringContaining("persistence-failed") as string,
        data: { reason: "persistence-failed" },
      },
      _meta: { "io.modelcontextprotocol/subscriptionId": "counting" },
    });
    answer = () => {
      throw new TypeError("a secret of the inside");
    };
    let defect = await next("error");
    while (!JSON.stringify(defect).includes('"internal"')) defect = await next("error");
    expect(JSON.stringify(defect)).not.toContain("secret");
    expect(
      endpoint.log.filter(({ event }) => event === "the unread items cannot be counted").length,
    ).toBeGreaterThan(1);
    answer = () => 7;
    let frame = await stream.next();
    while (frame?.method !== "notifications/events/event") frame = await stream.next();
    expect(frame.params?.data).toEqual({ pendingCount: 7 });
    stream.leave();
  },
);

verifies(["ING-44", "ING-45"], "heartbeats are frames with the subscription's id", async () => {
  const endpoint = await start({ heartbeatMs: 10 });
  const stream = await open(endpoint, 42);
  expect((await stream.next())?.method).toBe("notifications/events/active");
  for (let i = 0; i < 3; i++) {
    const frame = await stream.next();
    expect(frame?.method).toBe("notifications/events/heartbeat");
    expect([frame?.params?.cursor, subscriptionOf(frame)]).toEqual([null, 42]);
  }
  stream.leave();
});

verifies("ING-46", "the newest stream owns the events; the older is terminated and ends", async () => {
  const endpoint = await start();
  const older = await open(endpoint, 1);
  await older.next();
  const newer = await open(endpoint, 2);
  expect((await newer.next())?.method).toBe("notifications/events/active");
  const terminated = await older.next();
  expect(terminated?.method).toBe("notifications/events/terminated");
  expect(terminated?.params?.error).toMatchObject({ code: -32_013, data: { limit: "streams", max: 1 } });
  expect((await older.next())?.result).toMatchObject({ resultType: "complete" });
  expect(await older.next()).toBeNull();
  older.leave();
  endpoint.deliver(textItem("hello"));
  expect((await newer.next())?.params?.data).toEqual({ pendingCount: 1 });
  newer.leave();
});

verifies("ING-46", "a reader that vanishes leaves the next one a clean start", async () => {
  const endpoint = await start();
  for (let i = 0; i < 20; i++) {
    const stream = await open(endpoint, i);
    if (i % 2 === 0) await stream.next();
    stream.leave();
  }
  endpoint.deliver(textItem("hello"));
  const last = await open(endpoint, "last");
  expect((await last.next())?.method).toBe("notifications/events/active");
  expect((await last.next())?.params?.data).toEqual({ pendingCount: 1 });
  last.leave();
});

verifies("ING-47", "a clean stop ends streams with their final result, within two seconds", async () => {
  const endpoint = await startEndpoint();
  const events = await open(endpoint, "events");
  const catalog = await RawHttp.stream(
    endpoint.port,
    "subscriptions/listen",
    { notifications: { toolsListChanged: true } },
    "catalog",
  );
  await events.next();
  await catalog.next();
  const begun = performance.now();
  const closing = endpoint.close();
  for (const [stream, id] of [
    [events, "events"],
    [catalog, "catalog"],
  ] as const) {
    const final = await stream.next();
    expect([final?.id, final?.result?.resultType]).toEqual([id, "complete"]);
    expect(final?.result?.["_meta"]).toMatchObject({ "io.modelcontextprotocol/subscriptionId": id });
    expect(await stream.next()).toBeNull();
  }
  await closing;
  expect(performance.now() - begun).toBeLessThan(2_000);
});

verifies(
  "ING-43",
  "C27: a reader that never reads holds no more than its socket, and does not delay a stop",
  async () => {
    const endpoint = await startEndpoint({ heartbeatMs: 1 });
    const body = JSON.stringify(RawHttp.message("events/stream", { name }));
    const headers = Object.entries({
      ...RawHttp.headersOf("events/stream"),
      host: `127.0.0.1:${endpoint.port}`,
      "content-type": "application/json",
      "content-length": String(body.length),
    }).map(([header, value]) => `${header}: ${value}`);
    const socket = connect(endpoint.port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    socket.pause();
    socket.write(`POST /mcp HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`);
    for (let i = 0; i < 200; i++) endpoint.deliver(textItem(`${i}`));
    const begun = performance.now();
    await endpoint.close();
    expect(performance.now() - begun).toBeLessThan(2_500);
    socket.destroy();
  },
);

verifies("MGT-11", "a stop waits a moment for calls that are under way, and then ends them", async () => {
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  const slow = await startEndpoint({
    overrides: {
      acknowledgeDelivery: () => answer,
      searchAgents: () => new Promise(() => {}),
    },
  });
  const token = `dlv_${Buffer.alloc(32).toString("base64url")}`;
  const ending = RawHttp.callTool(slow.port, "acknowledge_delivery", { deliveryToken: token });
  const endless = RawHttp.callTool(slow.port, "search_agents", {});
  await RawHttp.callTool(slow.port, "status", {});
  const closing = slow.close();
  resolve();
  expect((await ending).body.result?.structuredContent).toEqual({});
  expect(await endless).toMatchObject({
    status: 503,
    body: { error: { message: "The endpoint is stopping." } },
  });
  await closing;
  await expect(fetch(slow.url, { method: "POST" })).rejects.toThrow();
});

verifies("MGT-12", "a port that is taken is an error that names it, and leaves nothing running", async () => {
  const { startMcpServer } = await import("../../src/mcp/McpServer.ts");
  const endpoint = await start();
  const authority = {
    mode: "trusted-local",
    tokens: () => ({ owner: null, runtime: null, metrics: null }),
  } as const;
  const second = startMcpServer({
    operations: endpoint.operations,
    health: () => healthy,
    owner: noOwner,
    consumers: noConsumers,
    listen: { host: "127.0.0.1", port: endpoint.port },
    authority,
    startSecret,
    logger: () => {},
    clock: Date.now,
    random: (byteCount) => new Uint8Array(byteCount),
    version: "0",
  });
  await expect(second).rejects.toMatchObject({ code: "EADDRINUSE", port: endpoint.port });
  // C56: the port is free again at once after a stop, time and again.
  let { port } = endpoint;
  await endpoints.pop()?.close();
  for (let i = 0; i < 20; i++) {
    const again = await startMcpServer({
      operations: endpoint.operations,
      health: () => healthy,
      owner: noOwner,
      consumers: noConsumers,
      listen: { host: "127.0.0.1", port },
      authority,
      startSecret,
      logger: () => {},
      clock: Date.now,
      random: (byteCount) => new Uint8Array(byteCount),
      version: "0",
    });
    expect((await RawHttp.rpc(port, "server/discover")).status).toBe(200);
    await again.close();
    port = Number(new URL(again.url).port);
  }
});
