import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Transport from "../../src/wire/Transport.ts";
import { connect, envelopeFrom, makeAgents, startBench, type Agent } from "../Fixture.ts";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { authenticateFrame, call, callAs } from "./RawCaller.ts";

const [ada, bob] = makeAgents(2) as [Agent, Agent];

verifies("RTR-26", "plain text is served on loopback only", async () => {
  await expect(startBench({ listen: { host: "0.0.0.0", port: 0 } })).rejects.toThrow(RangeError);
  const hosts = ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"];
  expect(hosts.filter(Transport.isLoopback)).toEqual(hosts);
  const others = ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", ""];
  expect(others.filter(Transport.isLoopback)).toEqual([]);
});

verifies("RTR-26", "TLS serves the same frames", async () => {
  const bench = await startBench({ listen: { host: "127.0.0.1", port: 0, tls: { cert, key } } });
  expect(bench.router.url).toMatch(/^wss:/);
  const told = connect(bench.router, ada, { certificateAuthority: cert });
  const { text, envelope } = envelopeFrom(ada, [ada], "over TLS");
  expect(await told.client.send(text, envelope.messageId)).toMatchObject({ kind: "accepted" });
  await told.until(() => told.deliveries.length === 1);
  const doubting = connect(bench.router, bob);
  await doubting.until(() => doubting.disconnects.length > 0);
  expect(doubting.disconnects[0]).toBe("unreachable");
  await Promise.all([told, doubting].map(({ client }) => client.close()));
  await bench.close();
});

verifies("RTR-27", "a caller that answers no ping is dropped, one that does stays", async () => {
  const bench = await startBench({ limits: { heartbeatMs: 15 } });
  const dead = call(bench.router.url, undefined, { autoPong: false });
  dead.write(authenticateFrame(ada, await dead.challenge()));
  expect((await dead.next()).kind).toBe("ready");
  const alive = await callAs(bench.router.url, bob);
  let pings = 0;
  const manyPings = new Promise<void>((resolve) =>
    alive.socket.on("ping", () => {
      pings += 1;
      if (pings === 8) resolve();
    }),
  );
  expect(await dead.next()).toMatchObject({ kind: "closed", code: 1006 });
  await manyPings;
  expect(alive.unread()).toBe(0);
  alive.socket.close();
  await bench.close();
});

verifies("RTR-49", "probes say that it lives, whether it can take sends, and what it counted", async () => {
  const log = openSqliteLog(":memory:");
  const bench = await startBench({ log, mayReadMetrics: (authorization) => authorization === "Bearer m" });
  const get = async (path: string, method = "GET", headers: Record<string, string> = {}) => {
    const response = await fetch(bench.router.url.replace("ws:", "http:") + path, { method, headers });
    return { status: response.status, text: await response.text() };
  };
  const told = connect(bench.router, ada);
  const { text, envelope } = envelopeFrom(ada, [ada], "counted");
  await told.client.send(text, envelope.messageId);
  await told.until(() => told.deliveries.length === 1);
  for (const path of ["/healthz", "/readyz"])
    expect(await get(path)).toEqual({ status: 200, text: '{"status":"ok"}' });
  expect((await get("/metrics")).status).toBe(401);
  const metrics = await get("/metrics", "GET", { authorization: "Bearer m" });
  for (const line of ["connections 1", "accepted_total 1", "delivered_total 1"]) {
    expect(metrics.text).toContain(`social_harness_router_${line}\n`);
  }
  expect(metrics.text).not.toContain(ada.card.agentId);
  expect((await get("/")).status).toBe(404);
  const without = await startBench();
  const unserved = await fetch(`${without.router.url.replace("ws:", "http:")}/metrics`);
  expect(unserved.status).toBe(404);
  await without.close();
  expect((await get("/healthz", "POST")).status).toBe(405);
  await told.client.close();
  await log.close();
  expect(await get("/readyz")).toEqual({
    status: 503,
    text: '{"status":"not-ready","cause":"log-unavailable"}',
  });
  await bench.close();
});

verifies(
  "RTR-50",
  "a Router whose last commit failed is not ready until one succeeds or time has passed",
  async () => {
    let now = 1_000_000;
    const log = openSqliteLog(":memory:");
    const bench = await startBench({ log, clock: () => now });
    const ready = async (): Promise<number> =>
      (await fetch(`${bench.router.url.replace("ws:", "http:")}/readyz`)).status;
    const caller = await callAs(bench.router.url, ada);
    log.database.exec("PRAGMA query_only = ON");
    caller.send(1, envelopeFrom(ada, [ada], "lost").text);
    expect(await caller.next()).toEqual({ kind: "rejected", requestId: 1, reason: "unavailable" });
    expect(await ready()).toBe(503);
    now += 10_001;
    expect(await ready()).toBe(200);
    log.database.exec("PRAGMA query_only = OFF");
    await bench.close();
    await log.close();
  },
);

verifies(
  "RUN-295",
  "while the log cannot be written readyz says so in one word, and the measurements say it until it can",
  async () => {
    const log = openSqliteLog(":memory:");
    const said: Array<readonly [event: string, fields: unknown]> = [];
    const bench = await startBench({
      log,
      mayReadMetrics: () => true,
      surroundings: () => [{ name: "beside", type: "gauge", help: "Beside.", samples: [{ value: 7 }] }],
      aboutLog: () => ({ service: "Router", file: "/net/router.sqlite" }),
      logger: (level, event, fields) => {
        if (level !== "info") said.push([event, fields]);
      },
    });
    const text = async (path: string): Promise<string> =>
      (await fetch(bench.router.url.replace("ws:", "http:") + path)).text();
    const caller = await callAs(bench.router.url, ada);
    expect(await text("/metrics")).toMatch(/^social_harness_router_log_usable 1$[^]*^beside 7$/m);
    log.database.exec("PRAGMA query_only = ON");
    const lost = envelopeFrom(ada, [ada], "lost").text;
    caller.send(1, lost);
    expect(await caller.next()).toEqual({ kind: "rejected", requestId: 1, reason: "unavailable" });
    expect(JSON.parse(await text("/readyz"))).toEqual({ status: "not-ready", cause: "log-read-only" });
    expect(await text("/metrics")).toMatch(/^social_harness_router_log_usable 0$/m);
    log.database.exec("PRAGMA query_only = OFF");
    caller.send(2, lost);
    expect(await caller.next()).toMatchObject({ kind: "accepted", requestId: 2 });
    expect(JSON.parse(await text("/readyz"))).toEqual({ status: "ok" });
    expect(await text("/metrics")).toMatch(/^social_harness_router_log_usable 1$/m);
    const about = { service: "Router", file: "/net/router.sqlite" };
    expect(said).toEqual([
      ["log_unusable", expect.objectContaining(about)],
      ["log_works_again", expect.objectContaining(about)],
    ]);
    await bench.close();
    await log.close();
  },
);

verifies(
  ["RTR-39", "RTR-09"],
  "a closed Router on the same log goes on as if it had never stopped",
  async () => {
    const log = openSqliteLog(":memory:");
    const first = await startBench({ log });
    const told = connect(first.router, ada);
    const sent = envelopeFrom(ada, [ada, bob], "before");
    const outcome = await told.client.send(sent.text, sent.envelope.messageId);
    await told.until(() => told.deliveries.length === 1);
    await told.client.close();
    await first.close();
    const second = await startBench({ log });
    expect(second.router.routerInstanceId).toBe(first.router.routerInstanceId);
    const again = connect(second.router, ada);
    expect(await again.client.send(sent.text, sent.envelope.messageId)).toEqual(outcome);
    await again.until(() => again.readies.length === 1);
    expect(again.readies[0]).toMatchObject({ acknowledgedCursor: 1, tailCursor: 1, acceptedSends: 1 });
    const reader = connect(second.router, bob);
    await reader.until(() => reader.deliveries.length === 1);
    expect(reader.texts()).toEqual(["before"]);
    await Promise.all([again, reader].map(({ client }) => client.close()));
    await second.close();
    await log.close();
  },
);
