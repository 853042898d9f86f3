// Who may be the consumer and how one becomes it: subscriptions and their leases, and every way in which they end.

import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { SubscribeInput } from "../../src/operations/EventSubscription.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import {
  answered,
  createBench,
  receiver,
  type Request,
  secretOf,
  type WebhookBench,
} from "./WebhookBench.ts";
import { counting, elsewhere, input, make, url } from "./CountingReceiver.ts";

verifies("ING-87", "an id follows from endpoint, principal, URL and event alone", async () => {
  const bench = make();
  const idOf = async (principal: string, given: SubscribeInput = input) => {
    const result = await bench.webhooks.subscribe(principal, given);
    return result.kind === "subscribed" ? result.id : result.kind;
  };
  const id = await idOf("runtime");
  expect(await idOf("runtime", { ...input, secret: secretOf("two"), ttlMs: 60_000 })).toBe(id);
  bench.restart();
  expect(await idOf("runtime")).toBe(id);
  await bench.webhooks.revokeEventSubscription();
  expect(await idOf("runtime")).toBe(id);
  await bench.webhooks.revokeEventSubscription();
  const byOwner = await idOf("owner");
  await bench.webhooks.revokeEventSubscription();
  const another = await idOf("runtime", { ...input, url: elsewhere });
  expect(new Set([id, byOwner, another]).size).toBe(3);
});

verifies("ING-88", "a lease is what was asked for, between a minute and a day, and always ends", async () => {
  const bench = make();
  const leaseOf = async (ttlMs: number | null) => {
    const result = await bench.webhooks.subscribe("runtime", { ...input, ttlMs });
    return result.kind === "subscribed" ? Date.parse(result.refreshBefore) - bench.now : result.kind;
  };
  const asked = [null, 0, -5, 1, 59_999, 60_000, 3_600_000, 86_400_000, 86_400_001, 1e15];
  const day = 86_400_000;
  const granted = [day, 60_000, 60_000, 60_000, 60_000, 60_000, 3_600_000, day, day, day];
  for (const [i, ttlMs] of asked.entries()) expect(await leaseOf(ttlMs)).toBe(granted[i]);
});

verifies(
  "ING-91",
  "another URL or principal waits for a revocation, also of an expired registration",
  async () => {
    const bench = make();
    await bench.webhooks.subscribe("runtime", { ...input, ttlMs: 60_000 });
    const others = () =>
      Promise.all([
        bench.webhooks.subscribe("runtime", { ...input, url: elsewhere }),
        bench.webhooks.subscribe("owner", input),
      ]);
    const occupied = [{ kind: "occupied" }, { kind: "occupied" }];
    expect(await others()).toEqual(occupied);
    await bench.advance(60_000);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "expired" });
    expect(await others()).toEqual(occupied);
    await bench.webhooks.revokeEventSubscription();
    // Of two that come at once, one.
    expect((await others()).map(({ kind }) => kind).toSorted()).toEqual(["occupied", "subscribed"]);
  },
);

verifies("ING-101", "unsubscribing ends one's own, and is the same success where there is none", async () => {
  const bench = make();
  const { unsubscribe, subscribe } = bench.webhooks;
  unsubscribe("runtime", url);
  await subscribe("runtime", input);
  unsubscribe("owner", url);
  unsubscribe("runtime", elsewhere);
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active" });
  unsubscribe("runtime", url);
  unsubscribe("runtime", url);
  expect(bench.webhooks.eventSubscriptionStatus()).toEqual({ kind: "none" });
  expect(bench.webhooks.isConsumedByWebhook()).toBe(false);
});

verifies(
  ["ING-101", "ING-102"],
  "what ends while its callback is asked is not brought back by the answer",
  async () => {
    const ends: ReadonlyArray<(bench: WebhookBench) => unknown> = [
      ({ webhooks }) => webhooks.revokeEventSubscription(),
      ({ webhooks }) => webhooks.unsubscribe("runtime", url),
    ];
    for (const end of ends) {
      const bench = make();
      const gate = Promise.withResolvers<void>();
      const passing = bench.post;
      bench.post = async (request, signal) => {
        await gate.promise;
        return passing(request, signal);
      };
      const subscribing = bench.webhooks.subscribe("runtime", input);
      await bench.settle();
      bench.webhooks.unsubscribe("owner", url);
      await end(bench);
      gate.resolve();
      expect(await subscribing).toEqual({ kind: "ended" });
      expect(bench.webhooks.eventSubscriptionStatus()).toEqual({ kind: "none" });
    }
  },
);

verifies("ING-101", "an unsubscription ends no other principal's challenge", async () => {
  const bench = make();
  const passing = bench.post;
  const slow = Promise.withResolvers<void>();
  bench.post = async (request, signal) => (await slow.promise, passing(request, signal));
  const subscribing = bench.webhooks.subscribe("runtime", input);
  await bench.settle();
  bench.webhooks.unsubscribe("owner", url);
  slow.resolve();
  expect((await subscribing).kind).toBe("subscribed");
});

verifies(
  "ING-102",
  "C37: a revocation takes the delivery that is under way with it, and keeps the item for the next consumer",
  async () => {
    const bench = make();
    const gate = Promise.withResolvers<CallbackAnswer>();
    const deliveries: Array<Request> = [];
    let aborted = false;
    bench.post = receiver((request, signal) => {
      deliveries.push(request);
      signal.addEventListener("abort", () => (aborted = true));
      return gate.promise;
    });
    await bench.webhooks.subscribe("runtime", input);
    const token = bench.admit("kept");
    await bench.settle();
    expect(await bench.webhooks.revokeEventSubscription()).toEqual({ kind: "revoked" });
    expect([aborted, Occurrence.current(bench.db)]).toEqual([true, null]);
    const seen = counting(bench);
    await bench.webhooks.subscribe("runtime", { ...input, url: elsewhere });
    gate.resolve(answered(410));
    await bench.settle();
    expect(seen.deliveries.map(({ headers }) => headers["webhook-id"])).toEqual([eventIdOf(token)]);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active" });
    expect(Inbox.unreadCount(bench.db)).toBe(0);
    expect(await bench.webhooks.revokeEventSubscription()).toEqual({ kind: "revoked" });
    expect(await bench.webhooks.revokeEventSubscription()).toEqual({ kind: "none" });
  },
);

verifies("ING-84", "a suspended registration owns the consumer until it is revoked or expires", async () => {
  for (const end of ["revoked", "expired"] as const) {
    const bench = make({ post: receiver(() => answered(500)) });
    await bench.webhooks.subscribe("runtime", input);
    bench.admit("never");
    await bench.advance(12 * 3_600_000);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "suspended" });
    bench.restart();
    expect(bench.webhooks.isConsumedByWebhook()).toBe(true);
    if (end === "revoked") await bench.webhooks.revokeEventSubscription();
    else await bench.advance(12 * 3_600_000);
    expect(bench.webhooks.isConsumedByWebhook()).toBe(false);
  }
});

verifies("ING-99", "a receiver can read, refresh and be revoked before it answers", async () => {
  const bench = make();
  const heard: Array<unknown> = [];
  bench.post = receiver(async ({ headers }) => {
    heard.push(Inbox.readEvent(bench.db, headers["webhook-id"] as never).item.kind);
    heard.push((await bench.webhooks.subscribe("runtime", input)).kind);
    heard.push(Inbox.unreadCount(bench.db));
    return answered(200);
  });
  await bench.webhooks.subscribe("runtime", input);
  bench.admit("read before it is received");
  for (let i = 0; i < 3; i++) await bench.settle();
  expect(heard).toEqual(["multicast", "subscribed", 1]);
  expect(Inbox.unreadCount(bench.db)).toBe(0);
});

verifies("ING-98", "whoever listens hears of a new consumer in the step that stored it", async () => {
  const bench = make();
  const heard: Array<unknown> = [];
  const stop = bench.webhooks.onConsumed(() =>
    heard.push([bench.webhooks.isConsumedByWebhook(), bench.db.inTransaction()]),
  );
  await bench.webhooks.subscribe("runtime", input);
  expect(heard).toEqual([[true, false]]);
  stop();
  await bench.webhooks.subscribe("runtime", input);
  expect(heard).toHaveLength(1);
});

verifies("ING-106", "the owner's test is a challenge that changes nothing", async () => {
  const bench = make();
  expect(await bench.webhooks.testWebhook()).toEqual({ kind: "none" });
  await bench.webhooks.subscribe("runtime", input);
  const passing = bench.post;
  const before = bench.webhooks.eventSubscriptionStatus();
  const { challenges } = counting(bench);
  expect(await bench.webhooks.testWebhook()).toEqual({ kind: "passed", durationMs: 0 });
  expect(challenges).toHaveLength(1);
  bench.post = async () => answered(410);
  expect(await bench.webhooks.testWebhook()).toEqual({
    kind: "failed",
    error: "http_4xx",
    category: "refused",
    status: 410,
    durationMs: 0,
  });
  bench.post = passing;
  expect(bench.webhooks.eventSubscriptionStatus()).toEqual(before);
  expect(bench.webhooks.webhookAttempts().map(({ purpose }) => purpose)).toEqual([
    "test",
    "test",
    "challenge",
  ]);
});

verifies(
  "ING-111",
  "without credentials a registration rests: it delivers nothing and owns nothing",
  async () => {
    const db = temporaryStore();
    const subscribed = createBench(() => db);
    await subscribed.webhooks.subscribe("runtime", input);
    const deliveries: Array<Request> = [];
    const resting = createBench(() => db, {
      enabled: false,
      post: receiver((request) => (deliveries.push(request), answered(200))),
    });
    resting.admit("waits");
    await resting.advance(3_600_000);
    expect([deliveries, resting.webhooks.isConsumedByWebhook()]).toEqual([[], false]);
    expect(resting.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active" });
    expect(await resting.webhooks.revokeEventSubscription()).toEqual({ kind: "revoked" });
  },
);

verifies(
  "ING-200",
  "a registration that rests says so with the mode, and no resume is promised",
  async () => {
    const db = temporaryStore();
    await createBench(() => db).webhooks.subscribe("runtime", { ...input, ttlMs: 60_000 });
    const resting = createBench(() => db, { enabled: false });
    expect(resting.log).toEqual(["the webhook rests: nothing is delivered"]);
    expect(resting.webhooks.eventSubscriptionStatus()).toMatchObject({
      state: "active",
      resting: "trusted-local",
    });
    expect(await resting.webhooks.resumeEventSubscription()).toEqual({ kind: "resting" });
    await resting.advance(60_000);
    expect(resting.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "expired" });
    expect(await resting.webhooks.resumeEventSubscription()).toEqual({ kind: "resting" });
    db.run(
      "UPDATE webhook_registration SET state = 'rejected', failed_since = 1, failed_last_at = 1, last_error = 'http_4xx'",
    );
    expect(await resting.webhooks.resumeEventSubscription()).toEqual({ kind: "rejected" });
    const again = createBench(() => temporaryStore(), { enabled: false });
    expect(again.log).toEqual([]);
  },
);

verifies("ING-207", "unsubscribing ends a rejected registration too, and another can follow", async () => {
  const bench = make({ post: receiver(() => answered(410)) });
  await bench.webhooks.subscribe("runtime", input);
  bench.admit("refused");
  await bench.settle();
  expect((await bench.webhooks.subscribe("runtime", input)).kind).toBe("rejected");
  bench.webhooks.unsubscribe("runtime", url);
  const { deliveries } = counting(bench);
  expect((await bench.webhooks.subscribe("runtime", input)).kind).toBe("subscribed");
  await bench.settle();
  expect([deliveries.length, Inbox.unreadCount(bench.db)]).toEqual([1, 0]);
});

verifies("ING-201", "looking at how a webhook stands writes nothing, whatever is due", async () => {
  const bench = make();
  await bench.webhooks.subscribe("runtime", { ...input, ttlMs: 60_000 });
  bench.now += 60_000;
  const steps = bench.steps();
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "expired" });
  expect(bench.steps()).toBe(steps);
});
