import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as Metrics from "../../src/operations/Metrics.ts";
import * as RawHttp from "../mcp/RawHttp.ts";
import { healthy, noOwner, ownerToken, startEndpoint } from "../mcp/TestEndpoint.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "social-harness-metrics-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The value of each series, by its name and labels. */
const seriesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .trimEnd()
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );

verifies("RUN-143", "the firewall is usable unless its file is not", () => {
  const usable = (firewall: Metrics.Standing["health"]["firewall"]): unknown => {
    const text = Metrics.create(1_000).text({
      health: { ...healthy, firewall },
      database: join(folder, "none"),
    });
    return seriesOf(text).get("social_harness_firewall_usable");
  };
  const standing = { explanation: null, heldItems: 0, queuedItems: 0 };
  expect(usable(null)).toBe(1);
  expect(usable({ ...standing, file: "absent" })).toBe(1);
  expect(usable({ ...standing, file: "usable" })).toBe(1);
  expect(usable({ ...standing, file: "unusable", explanation: "line 1" })).toBe(0);
});

verifies("RUN-143", "a page says how the endpoint stands and what it has counted", () => {
  const database = join(folder, "endpoint.sqlite");
  const metrics = Metrics.create(1_000);
  const health = {
    ...healthy,
    routerConnected: false,
    routerTrouble: { reason: "unreachable", explanation: "it cannot be reached" },
    pendingItems: 3,
    pendingPosts: 2,
    outboxEnvelopes: 5,
    firewall: { file: "usable", explanation: null, heldItems: 4, queuedItems: 1 },
  } as const;
  const read = () => seriesOf(metrics.text({ health, database }));
  expect(read().get("social_harness_store_wal_bytes")).toBe(0);
  writeFileSync(`${database}-wal`, "12345");

  const postId = PostId.fromBytes(Buffer.alloc(32, 1));
  metrics.certified(2);
  metrics.ended({ postId, outcome: "certified" }, 1_000, 1_030);
  metrics.ended({ postId, outcome: "certified" }, 5_000, 1_000);
  metrics.ended({ postId, outcome: "withdrawn" }, 0, 9);
  metrics.attempted({ purpose: "delivery", category: "received" });
  metrics.attempted({ purpose: "delivery", category: "received" });
  metrics.attempted({ purpose: "test", category: "timeout" });
  const signer = Ed25519.signerFromSeed(Buffer.alloc(32, 1));
  const signature = signer.sign("thing", { a: 1 });
  const verifier = metrics.counting(Ed25519.verifier);
  expect(verifier.verify(signer.publicKey, "thing", { a: 1 }, signature)).toBe(true);
  expect(verifier.verify(signer.publicKey, "thing", { a: 2 }, signature)).toBe(false);

  const series = read();
  const expected = {
    router_connected: 0,
    'router_trouble{reason="unreachable"}': 1,
    router_refusing: 0,
    pending_items: 3,
    pending_posts: 2,
    outbox_envelopes: 5,
    held_items: 4,
    queued_items: 1,
    store_wal_bytes: 5,
    certified_records_total: 2,
    'own_posts_total{outcome="certified"}': 2,
    'own_posts_total{outcome="withdrawn"}': 1,
    'certification_seconds_bucket{le="0.025"}': 1,
    'certification_seconds_bucket{le="0.05"}': 2,
    'certification_seconds_bucket{le="+Inf"}': 2,
    certification_seconds_sum: 0.03,
    certification_seconds_count: 2,
    'webhook_attempts_total{purpose="delivery",category="received"}': 2,
    'webhook_attempts_total{purpose="test",category="timeout"}': 1,
    'signatures_verified_total{verdict="valid"}': 1,
    'signatures_verified_total{verdict="invalid"}': 1,
  };
  for (const [name, value] of Object.entries(expected))
    expect([name, series.get(`social_harness_${name}`)]).toEqual([name, value]);
  expect(
    [...series.keys()].filter((name) => name.startsWith("social_harness_build_info{version=")),
  ).toHaveLength(1);
  expect(series.get("process_start_time_seconds")).toBe(1);
  expect(series.get("process_resident_memory_bytes")).toBeGreaterThan(0);
});

verifies(
  "RUN-333",
  "the room on the store's disk is shown where the system tells it, and left out elsewhere",
  () => {
    const roomIn = (path: string): number | undefined =>
      seriesOf(Metrics.create(1_000).text({ health: healthy, database: join(path, "endpoint.sqlite") })).get(
        "social_harness_store_disk_free_bytes",
      );
    const { bavail, bsize, blocks } = statfsSync(folder);
    // Others write to the same disk meanwhile.
    expect(Math.abs((roomIn(folder) ?? Infinity) - bavail * bsize)).toBeLessThan((blocks * bsize) / 10);
    expect(roomIn(join(folder, "none"))).toBeUndefined();
  },
);

verifies("RUN-142", "health and counts are served to the owner's token, under the gate's rules", async () => {
  const owner = { ...noOwner, metrics: () => "a_page 1\n" };
  const endpoint = await startEndpoint({ mode: "credentials", owner });
  const ask = (path: string, headers: NonNullable<RawHttp.Post["headers"]>) =>
    RawHttp.send(endpoint.port, { method: "GET", path, headers });
  const asOwner = RawHttp.bearer(ownerToken);
  const health = await ask("/healthz", asOwner);
  expect([health.status, health.body]).toEqual([200, { status: "ok" }]);
  const page = await ask("/metrics", asOwner);
  expect([page.status, page.text]).toEqual([200, "a_page 1\n"]);
  expect(page.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(page.headers["cache-control"]).toBe("no-store");
  for (const path of ["/healthz", "/metrics"]) {
    expect((await ask(path, {})).status).toBe(401);
    expect((await ask(path, RawHttp.bearer("wrong-token-wrong-token-wrong-token"))).status).toBe(401);
    expect((await ask(path, { ...asOwner, host: "evil.example" })).status).toBe(403);
    expect((await ask(path, { ...asOwner, origin: "http://evil.example" })).status).toBe(403);
  }
  await endpoint.close();
});
