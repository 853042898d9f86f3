// Streams on which nothing happens, behind a proxy that cuts whatever is silent. Its minute is two seconds here and the
// endpoint's quarter of a minute half a second, so ten seconds stand for five minutes.

import { setTimeout } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect, type TestContext } from "vitest";
import * as PendingStream from "../../src/mcp/PendingStream.ts";
import * as Nginx from "./Nginx.ts";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint, textItem } from "./TestEndpoint.ts";

const closers: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const patienceSeconds = 2;

const start = async (
  context: TestContext,
  heartbeatMs: number,
): Promise<{ readonly endpoint: TestEndpoint; readonly port: number }> => {
  const binary = Nginx.find();
  if (binary === null) context.skip("nginx is not installed");
  const endpoint = await startEndpoint({ heartbeatMs });
  closers.push(endpoint.close);
  const proxy = await Nginx.start(binary as string, endpoint.port, patienceSeconds);
  closers.push(proxy.stop);
  return { endpoint, port: proxy.port };
};

const pending = { name: PendingStream.eventName };
const listening = { notifications: { toolsListChanged: true } };

verifies(
  "MGT-149",
  "C14: idle streams stay open behind nginx, and news come through at once",
  async (context) => {
    const { endpoint, port } = await start(context, 500);
    const events = await RawHttp.stream(port, "events/stream", pending);
    const catalog = await RawHttp.stream(port, "subscriptions/listen", listening);
    expect((await events.next())?.method).toBe("notifications/events/active");
    expect((await catalog.next())?.method).toBe("notifications/subscriptions/acknowledged");
    const changed = catalog.next();
    const until = performance.now() + 10_000;
    let heartbeats = 0;
    while (performance.now() < until) {
      // Each comes by itself: nothing on the way waits for more of them.
      const begun = performance.now();
      expect((await events.next())?.method).toBe("notifications/events/heartbeat");
      expect(performance.now() - begun).toBeLessThan(patienceSeconds * 1_000);
      heartbeats += 1;
    }
    expect(heartbeats).toBeGreaterThan(5);
    endpoint.deliver(textItem("hello"));
    for (let frame = await events.next(); ; frame = await events.next()) {
      if (frame?.method === "notifications/events/heartbeat") continue;
      expect(frame?.params?.data).toEqual({ pendingCount: 1 });
      break;
    }
    endpoint.activate();
    expect((await changed)?.method).toBe("notifications/tools/list_changed");
    events.leave();
    catalog.leave();
  },
);

verifies("MGT-149", "C14: a silent stream is cut, and the same request opens it again", async (context) => {
  const { endpoint, port } = await start(context, 1_000_000);
  for (let times = 0; times < 2; times++) {
    const events = await RawHttp.stream(port, "events/stream", pending);
    expect((await events.next())?.method).toBe("notifications/events/active");
    const begun = performance.now();
    await expect(events.next()).rejects.toThrow();
    expect(performance.now() - begun).toBeGreaterThan(1_000);
    await setTimeout(50);
  }
  expect(endpoint.log.filter(({ level }) => level === "error")).toEqual([]);
});

verifies(
  "MGT-149",
  "C14: the endpoint's interval is a quarter of what proxies wait, and says not to buffer",
  async () => {
    // A minute of nginx and of most load balancers; Node's own client waits five.
    expect(PendingStream.heartbeatMsDefault * 4).toBeLessThanOrEqual(60_000);
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    for (const [method, params] of [
      ["events/stream", pending],
      ["subscriptions/listen", listening],
    ] as const) {
      const { headers } = await RawHttp.headOf(endpoint.port, method, params);
      expect([headers["content-type"], headers["x-accel-buffering"]]).toEqual(["text/event-stream", "no"]);
      expect(headers["cache-control"]).toContain("no-cache");
    }
  },
);
