// Many at once: more connections, streams and listeners than there is room for, and readers that do not read.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as Limits from "../../src/mcp/Limits.ts";
import { keptBytes, openSockets } from "./Heap.ts";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

const endpoints: Array<TestEndpoint> = [];
const sockets: Array<Socket> = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});

/** An endpoint whose listeners for news can be counted and called. */
const start = async () => {
  const pending = new Set<() => void>();
  const catalog = new Set<() => void>();
  const asked = { count: 0 };
  const listening = (listeners: Set<() => void>) => (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const endpoint = await startEndpoint({
    heartbeatMs: 1_000_000,
    overrides: {
      onPending: listening(pending),
      onCatalogChanged: listening(catalog),
      pendingCount: () => {
        asked.count += 1;
        return 1;
      },
    },
  });
  endpoints.push(endpoint);
  const rise = (): void => {
    for (const listener of pending) listener();
  };
  const changeCatalog = (): void => {
    for (const listener of catalog) listener();
  };
  return { endpoint, pending, asked, rise, changeCatalog };
};

const idleConnection = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
};

const until = async (condition: () => boolean): Promise<void> => {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("it never came true");
    await setTimeout(5);
  }
};

const status = { headers: RawHttp.headersOf("tools/call", "status") };
const statusBody = JSON.stringify(RawHttp.message("tools/call", { name: "status" }));
const owner = { authorization: `Bearer ${ownerToken}` };

/** A connection in use: its request has come, and waits for the rest of its body. */
const busyConnection = async (port: number): Promise<void> => {
  const socket = await idleConnection(port);
  const head = Object.entries({ ...status.headers, "content-length": String(statusBody.length) });
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
  );
};

verifies(
  ["MGT-144", "MGT-145"],
  "the 257th connection in use is told so, the owner is served all the same, and a client recovers by itself",
  async () => {
    const { endpoint } = await start();
    const { port } = endpoint;
    // Those that say nothing are in nobody's way.
    for (let i = 0; i < Limits.strangersMax; i++) await idleConnection(port);
    expect((await RawHttp.send(port, { ...status, body: statusBody })).status).toBe(200);
    for (const socket of sockets.splice(0)) socket.destroy();
    for (let i = 0; i < Limits.connectionsMax; i++) await busyConnection(port);
    await expect
      .poll(async () => (await RawHttp.send(port, { ...status, body: statusBody })).status)
      .toBe(503);
    const refused = await RawHttp.send(port, { ...status, body: statusBody });
    expect([refused.status, refused.headers["retry-after"], refused.headers.connection]).toEqual([
      503,
      "1",
      "close",
    ]);
    expect(refused.body.error).toEqual({
      code: -32_000,
      message: expect.stringMatching(/^All 256 connections .* Try again/) as string,
    });
    // A good token is served, on a new connection; a wrong one hears what it always hears.
    const served = await RawHttp.send(port, { headers: { ...status.headers, ...owner }, body: statusBody });
    expect([served.status, served.body.result?.structuredContent]).toMatchObject([200, { kind: "active" }]);
    const wrong = await RawHttp.send(port, { headers: { authorization: "Bearer wrong" }, body: statusBody });
    expect(wrong.status).toBe(401);
    await expect(endpoint.client()).rejects.toThrow("HTTP 503");
    for (const socket of sockets.splice(0)) socket.destroy();
    await until(() => openSockets() < 50);
    expect((await (await endpoint.client()).listTools()).tools).toHaveLength(8);
    expect((await RawHttp.send(port, { ...status, body: statusBody })).status).toBe(200);
  },
);

type Attempt =
  | { readonly kind: "open"; readonly stream: RawHttp.FrameStream }
  | { readonly kind: "ended"; readonly why: unknown };

/** Opens one stream and reads until it is known what becomes of it. `isOver` of a live one resolves when it ends. */
const attempt = async (port: number, method: string, id: number): Promise<Attempt> => {
  const params =
    method === "events/stream"
      ? { name: "org.social-harness/inbox.pending" }
      : { notifications: { toolsListChanged: true } };
  const answer = await RawHttp.begin(port, method, params, id);
  if (answer.kind === "stream") return { kind: "open", stream: answer.stream };
  const { status: code, body } = answer.answer;
  return { kind: "ended", why: code === 200 ? body.error?.data : code };
};

verifies(
  ["MGT-146", "MGT-147", "ING-46"],
  "of a thousand streams at once one is served its events, 64 listen, and every other one is told",
  async () => {
    const { endpoint, pending, rise, changeCatalog } = await start();
    const { port } = endpoint;
    const wave = async (): Promise<void> => {
      const attempts = Array.from({ length: 1_000 }, (_, i) =>
        attempt(port, i % 2 === 0 ? "events/stream" : "subscriptions/listen", i),
      );
      // The owner's calls go through in the middle of it.
      const calls = Array.from({ length: 20 }, () =>
        RawHttp.send(port, { headers: { ...status.headers, ...owner }, body: statusBody }),
      );
      for (const call of await Promise.all(calls)) expect(call.status).toBe(200);
      const outcomes = await Promise.all(attempts);
      const ended = outcomes.filter((outcome) => outcome.kind === "ended").map(({ why }) => why);
      const listenersFull = { limit: "subscriptions", max: Limits.catalogListenersMax };
      for (const why of ended) expect([503, listenersFull]).toContainEqual(why);

      await until(() => pending.size === 1);
      // Every stream that was opened has a first frame. An older one of the events then ends, as it was told.
      const streams = outcomes.flatMap((outcome) => (outcome.kind === "open" ? [outcome.stream] : []));
      const live = { events: 0, listeners: 0, terminated: 0 };
      const newest: Array<RawHttp.FrameStream> = [];
      for (const stream of streams) {
        const first = await stream.next();
        if (first?.method === "notifications/subscriptions/acknowledged") {
          live.listeners += 1;
          newest.push(stream);
          continue;
        }
        expect(first?.method).toBe("notifications/events/active");
        // The count is one, so an event follows, unless a newer stream came first.
        let frame = await stream.next();
        if (frame?.method === "notifications/events/event")
          frame = (await Promise.race([stream.next(), setTimeout(500)])) ?? null;
        if (frame === null) {
          live.events += 1;
          newest.push(stream);
          continue;
        }
        expect([frame.method, frame.params?.error]).toMatchObject([
          "notifications/events/terminated",
          { data: { limit: "streams", max: 1 } },
        ]);
        expect((await stream.next())?.result).toMatchObject({ resultType: "complete" });
        live.terminated += 1;
      }
      expect(live.events).toBe(1);
      expect(live.listeners).toBeGreaterThan(0);
      expect(live.listeners).toBeLessThanOrEqual(Limits.catalogListenersMax);
      expect(live.events + live.listeners + live.terminated + ended.length).toBe(1_000);
      expect(pending.size).toBe(1);
      changeCatalog();
      rise();
      // Whoever sent no token is served again, now that the crowd was told.
      expect((await RawHttp.send(port, { ...status, body: statusBody })).status).toBe(200);
      for (const stream of streams) stream.leave();
      await until(() => pending.size === 0 && openSockets() < 50);
    };
    // The first wave fills what is kept for ever: compiled code, caches, pools.
    await wave();
    const before = await keptBytes();
    await wave();
    const grown = (await keptBytes()) - before;
    expect(grown).toBeLessThan(2_000_000);
    expect(endpoint.log.filter(({ level }) => level === "error")).toEqual([]);
  },
);

verifies(
  ["MGT-147", "ING-43"],
  "C27: a stalled stream costs the same after a thousand wake-ups more, and nothing once it is gone",
  async () => {
    const { endpoint, pending, asked, rise } = await start();
    const body = JSON.stringify(
      RawHttp.message("events/stream", { name: "org.social-harness/inbox.pending" }),
    );
    const head = Object.entries({
      ...RawHttp.headersOf("events/stream"),
      host: `127.0.0.1:${endpoint.port}`,
      "content-type": "application/json",
      "content-length": String(body.length),
    }).map(([name, value]) => `${name}: ${value}`);
    const socket = await idleConnection(endpoint.port);
    socket.pause();
    socket.write(`POST /mcp HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`);
    await until(() => asked.count > 0);
    // Until the system's own buffers are full and nothing more is taken.
    const wake = async (times: number): Promise<number> => {
      const { count } = asked;
      for (let i = 0; i < times; i++) {
        rise();
        await setImmediate();
        await setImmediate();
        await setImmediate();
      }
      return asked.count - count;
    };
    for (let rounds = 0; (await wake(500)) > 0; rounds++) expect(rounds).toBeLessThan(200);
    const before = await keptBytes();
    expect(await wake(1_000)).toBe(0);
    for (let i = 0; i < 100_000; i++) rise();
    expect((await keptBytes()) - before).toBeLessThan(500_000);
    // Others are served meanwhile.
    expect((await RawHttp.send(endpoint.port, { ...status, body: statusBody })).status).toBe(200);
    socket.destroy();
    await until(() => pending.size === 0 && openSockets() < 10);
    const next = await RawHttp.stream(endpoint.port, "events/stream", {
      name: "org.social-harness/inbox.pending",
    });
    expect((await next.next())?.method).toBe("notifications/events/active");
    next.leave();
  },
);
