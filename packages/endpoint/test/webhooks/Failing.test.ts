// Deliveries that fail: how long they wait, when they are given up, what ends for good, and what a stop or another clock does
// to them.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Limits from "../../src/webhooks/Limits.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { scripted, secret, url } from "./ScriptedReceiver.ts";
import { answered, receiver, type Request } from "./WebhookBench.ts";

verifies("ING-95", "a receiver's Retry-After is honoured up to five minutes", async () => {
  const { bench, got } = await scripted([answered(429, 120_000), answered(503, 86_400_000), answered(200)]);
  bench.admit("later");
  await bench.settle();
  await bench.advance(119_999);
  expect(got).toHaveLength(1);
  await bench.advance(1);
  expect(got).toHaveLength(2);
  await bench.advance(Limits.retryMsMax - 1);
  expect(got).toHaveLength(2);
  await bench.advance(1);
  expect(got).toHaveLength(3);
});

verifies("ING-81", "a hundred failures over an hour suspend; fewer, or in less time, do not", async () => {
  const { bench, got } = await scripted([answered(500)]);
  bench.admit("never");
  await bench.advance(12 * 3_600_000);
  expect(got).toHaveLength(Limits.suspendAttemptsMin);
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({
    state: "suspended",
    failedAttempts: 100,
    lastError: "http_5xx",
  });
  expect(bench.log).toEqual([
    "a webhook was subscribed",
    "a webhook delivery failed",
    "the webhook receives nothing more",
  ]);
  expect(await bench.webhooks.resumeEventSubscription()).toEqual({ kind: "resumed" });
  await bench.settle();
  expect(got).toHaveLength(Limits.suspendAttemptsMin + 1);
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "retrying", failedAttempts: 1 });
  expect(Inbox.unreadCount(bench.db)).toBe(1);
});

verifies(
  "ING-82",
  "410 and 413 reject for good: only a revocation clears that, and the item stays",
  async () => {
    for (const status of [410, 413]) {
      const script = await scripted([answered(status)]);
      const { bench, got } = script;
      bench.admit("refused");
      await bench.settle();
      const rejected = { state: "rejected", lastError: "http_4xx", lastStatus: status, failedAttempts: 1 };
      expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject(rejected);
      script.answers = [answered(200)];
      expect(await bench.webhooks.resumeEventSubscription()).toEqual({ kind: "rejected" });
      const refresh = () => bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
      expect(await refresh()).toEqual({ kind: "rejected", error: "http_4xx" });
      bench.restart();
      await bench.advance(2 * 86_400_000);
      expect(await refresh()).toEqual({ kind: "rejected", error: "http_4xx" });
      expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject(rejected);
      expect(got).toHaveLength(1);
      expect(Inbox.unreadCount(bench.db)).toBe(1);
      expect(await bench.webhooks.revokeEventSubscription()).toEqual({ kind: "revoked" });
      expect((await refresh()).kind).toBe("subscribed");
      await bench.settle();
      expect(got).toHaveLength(2);
      expect(Buffer.from((got[1] as Request).body)).toEqual(Buffer.from((got[0] as Request).body));
      expect(Inbox.unreadCount(bench.db)).toBe(0);
    }
  },
);

verifies(
  "ING-83",
  "no attempt starts in the last ten seconds of a lease, and a refresh begins it",
  async () => {
    const { bench, got } = await scripted([]);
    await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: 60_000 });
    await bench.advance(60_000 - Limits.leaseRestMsMin);
    bench.admit("in time");
    await bench.settle();
    const before = got.length;
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ failedAttempts: 0 });
    await bench.advance(1);
    bench.admit("too late");
    await bench.advance(Limits.leaseRestMsMin - 2);
    expect(got).toHaveLength(before);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active" });
    await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: 60_000 });
    await bench.settle();
    expect(got).toHaveLength(before + 1);
  },
);

verifies(
  "ING-83",
  "an expired registration delivers nothing, and a refresh goes on with the same bytes and count",
  async () => {
    const script = await scripted([answered(500)]);
    const { bench, got } = script;
    await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: 60_000 });
    bench.admit("kept");
    await bench.advance(60_000);
    const before = got.length;
    const diagnostics = { failedAttempts: before, failedSince: "2026-11-30T12:00:00.000Z" };
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "expired", ...diagnostics });
    expect(await bench.webhooks.resumeEventSubscription()).toEqual({ kind: "expired" });
    await bench.advance(10 * 86_400_000);
    bench.restart();
    await bench.settle();
    expect(got).toHaveLength(before);
    script.answers = [answered(500), answered(200)];
    const refreshed = await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
    expect(refreshed).toMatchObject({
      kind: "subscribed",
      deliveryStatus: {
        active: true,
        lastDeliveryAt: null,
        lastError: "http_5xx",
        failedSince: diagnostics.failedSince,
      },
    });
    await bench.settle();
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ failedAttempts: before + 1 });
    await bench.advance(Limits.retryMsMax);
    expect(new Set(got.map(({ body }) => Buffer.from(body).toString("utf8"))).size).toBe(1);
    expect(Inbox.unreadCount(bench.db)).toBe(0);
  },
);

verifies("ING-95", "a clock that was set back delays no delivery by more than its wait", async () => {
  const { bench, got } = await scripted([answered(500), answered(200)]);
  bench.admit("before the clock was set back");
  await bench.settle();
  bench.now -= 3_600_000;
  bench.restart();
  await bench.settle();
  expect(got).toHaveLength(2);
});

verifies("ING-103", "a stop lets the attempt that is under way end, and makes no other", async () => {
  const script = await scripted();
  const { bench } = script;
  const answer = Promise.withResolvers<CallbackAnswer>();
  const posted: Array<AbortSignal> = [];
  bench.post = receiver((_, signal) => (posted.push(signal), answer.promise));
  bench.admit("under way");
  bench.admit("next");
  await bench.settle();
  const closing = bench.webhooks.close();
  answer.resolve(answered(200));
  await closing;
  expect([posted.length, posted[0]?.aborted, Inbox.unreadCount(bench.db)]).toEqual([1, false, 1]);
});

verifies("ING-103", "a stop cuts off an attempt that does not end, and holds it against nobody", async () => {
  const { bench } = await scripted();
  bench.post = receiver(
    (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
  );
  bench.admit("under way");
  await bench.settle();
  const closing = bench.webhooks.close();
  await bench.advance(Limits.graceMs);
  await closing;
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active", failedAttempts: 0 });
  expect(Occurrence.current(bench.db)).not.toBeNull();
});
