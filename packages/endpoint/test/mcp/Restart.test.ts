// What clients go through when the endpoint behind their port is another process than a moment ago. None of them is told, and
// nobody has to do anything.

import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as PendingStream from "../../src/mcp/PendingStream.ts";
import * as RawConnection from "./RawConnection.ts";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";

const closers: Array<() => Promise<void> | void> = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** An endpoint whose place another one can take. */
const start = async (): Promise<{
  readonly now: () => TestEndpoint;
  readonly restart: () => Promise<void>;
}> => {
  let endpoint = await startEndpoint();
  closers.push(() => endpoint.close());
  return {
    now: () => endpoint,
    restart: async () => {
      const { port } = endpoint;
      await endpoint.close();
      endpoint = await startEndpoint({ port });
    },
  };
};

const headers = RawHttp.headersOf("tools/call", "status");
const body = JSON.stringify(RawHttp.message("tools/call", { name: "status" }));

verifies("MGT-13", "C16: a plain HTTP client with kept connections goes on over restarts", async () => {
  const { now, restart } = await start();
  const { port } = now();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  closers.push(() => agent.destroy());
  const call = async (): Promise<number> => {
    const outgoing = request({
      agent,
      host: "127.0.0.1",
      port,
      path: "/mcp",
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
    });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    incoming.resume();
    await once(incoming, "end");
    return incoming.statusCode ?? 0;
  };
  expect([await call(), await call()]).toEqual([200, 200]);
  for (let i = 0; i < 3; i++) {
    await restart();
    expect([await call(), await call()]).toEqual([200, 200]);
  }
});

verifies(
  "MGT-150",
  "C16: a connection that waits between calls is closed by a restart, not left to hang",
  async () => {
    const { now, restart } = await start();
    const connection = await RawConnection.open(now().port);
    expect((await connection.post(headers, body)).status).toBe(200);
    await restart();
    await expect(connection.post(headers, body)).rejects.toThrow("the connection ended");
    const next = await RawConnection.open(now().port);
    expect((await next.post(headers, body)).status).toBe(200);
    next.close();
  },
);

verifies("MGT-150", "C16: the official client's calls and listener go on over a restart", async () => {
  const { now, restart } = await start();
  const heard: Array<string> = [];
  const client = new Client(
    { name: "stays", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  client.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("changed"));
  await client.connect(new StreamableHTTPClientTransport(new URL(now().url)));
  closers.push(() => client.close());
  for (let times = 1; times <= 2; times++) {
    const subscription = await client.listen({ toolsListChanged: true });
    await restart();
    // The client's program is told that its listener has ended, and listens again: the catalog it asks for is current.
    await subscription.closed;
    expect((await client.listTools()).tools).toHaveLength(8);
    const again = await client.listen({ toolsListChanged: true });
    now().activate();
    // The call follows the notification on its own connection, so it may come first.
    while (heard.length < times) await client.callTool({ name: "status", arguments: {} });
    await again.close();
  }
});

verifies(
  "MGT-150",
  "C16: an event stream ends with a restart, and the next one says what is waiting",
  async () => {
    const { now, restart } = await start();
    const pending = { name: PendingStream.eventName };
    const events = await RawHttp.stream(now().port, "events/stream", pending, "before");
    expect((await events.next())?.method).toBe("notifications/events/active");
    await restart();
    expect(await events.next()).toMatchObject({ id: "before", result: { resultType: "complete" } });
    expect(await events.next()).toBeNull();
    now().deliver(textItem("while nobody listened"));
    const again = await RawHttp.stream(now().port, "events/stream", pending, "after");
    expect((await again.next())?.method).toBe("notifications/events/active");
    expect((await again.next())?.params?.data).toEqual({ pendingCount: 1 });
    again.leave();
  },
);
