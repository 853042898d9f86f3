// Who may be the consumer and how one becomes it: subscriptions, their verification and leases, and every way in which they end.

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
  type BenchOptions,
  createBench,
  receiver,
  type Request,
  secretOf,
  urlOf,
  type WebhookBench,
} from "./WebhookBench.ts";

const url = urlOf("https://receiver.example/hook");
const elsewhere = urlOf("https://elsewhere.example/hook");
const secret = secretOf("one");
const input: SubscribeInput = { url, secret, ttlMs: null };

const make = (options: BenchOptions = {}): WebhookBench => {
  const db = temporaryStore();
  db.run("PRAGMA synchronous = OFF");
  return createBench(() => db, options);
};

/** Counts the challenges that a receiver is sent, and passes them all. */
const counting = (bench: WebhookBench): { challenges: Array<Request>; deliveries: Array<Request> } => {
  const seen = { challenges: [] as Array<Request>, deliveries: [] as Array<Request> };
  const answer = receiver((request) => (seen.deliveries.push(request), answered(200)));
  bench.post = (request, signal) => {
    if (request.headers["webhook-id"]?.startsWith("msg_") === true) seen.challenges.push(request);
    return answer(request, signal);
  };
  return seen;
};

const json = (value: unknown): CallbackAnswer => ({
  kind: "answered",
  status: 200,
  retryAfterMs: null,
  body: Buffer.from(typeof value === "string" ? value : JSON.stringify(value), "utf8"),
});

verifies("ING-89", "a callback is registered once it has echoed a fresh signed challenge", async () => {
  const bench = make();
  const { challenges } = counting(bench);
  expect(await bench.webhooks.subscribe("runtime", input)).toEqual({
    kind: "subscribed",
    id: expect.stringMatching(/^sub_[\w-]{43}$/) as string,
    refreshBefore: "2026-12-01T12:00:00.000Z",
  });
  const [{ headers, body }] = challenges as [Request];
  expect(JSON.parse(Buffer.from(body).toString("utf8"))).toEqual({
    type: "verification",
    challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
  });
  expect(headers["webhook-id"]).toMatch(/^msg_verification_[\w-]{22}$/);
  expect(headers["webhook-signature"]).toMatch(/^v1,/);
});

verifies(
  "ING-89",
  "without the echo nothing is registered, nothing changes, and a word says why",
  async () => {
    const wrong: ReadonlyArray<readonly [CallbackAnswer, string]> = [
      [answered(200), "challenge_failed"],
      [json("{"), "challenge_failed"],
      [json(null), "challenge_failed"],
      [json({ challenge: 5 }), "challenge_failed"],
      [json({ challenge: "" }), "challenge_failed"],
      [json({ challenge: "x".repeat(43) }), "challenge_failed"],
      [answered(302), "http_3xx"],
      [answered(404), "http_4xx"],
      [answered(410), "http_4xx"],
      [answered(503), "http_5xx"],
      [{ kind: "failed", category: "address-refused" }, "address_refused"],
      [{ kind: "failed", category: "dns-failed" }, "dns_failed"],
      [{ kind: "failed", category: "timeout" }, "timeout"],
      [{ kind: "failed", category: "tls-failed" }, "tls_error"],
    ];
    const registered = make();
    await registered.webhooks.subscribe("runtime", input);
    const before = registered.webhooks.eventSubscriptionStatus();
    for (const [answer, error] of wrong) {
      const bench = make({ post: async () => answer });
      expect(await bench.webhooks.subscribe("runtime", input)).toEqual({ kind: "unverified", error });
      expect(bench.webhooks.eventSubscriptionStatus()).toEqual({ kind: "none" });
      expect(bench.webhooks.webhookAttempts()).toHaveLength(1);
      registered.post = async () => answer;
      const rotated = { ...input, secret: secretOf("two") };
      expect(await registered.webhooks.subscribe("runtime", rotated)).toEqual({ kind: "unverified", error });
      expect(registered.webhooks.eventSubscriptionStatus()).toEqual(before);
      await registered.advance(60_000);
    }
  },
);

verifies("ING-89", "each challenge is another, and an old echo passes none", async () => {
  const bench = make();
  const seen: Array<string> = [];
  bench.post = async ({ body }) => {
    seen.push((JSON.parse(Buffer.from(body).toString("utf8")) as { challenge: string }).challenge);
    return json({ challenge: seen[0] });
  };
  expect((await bench.webhooks.subscribe("runtime", input)).kind).toBe("subscribed");
  const rotated = { ...input, secret: secretOf("two") };
  expect((await bench.webhooks.subscribe("runtime", rotated)).kind).toBe("unverified");
  expect(new Set(seen).size).toBe(2);
});

verifies(
  "ING-90",
  "a passed challenge counts for ten minutes, for that principal, URL and secret",
  async () => {
    const bench = make();
    const { challenges } = counting(bench);
    const subscribe = (given: Partial<SubscribeInput> = {}, principal = "runtime") =>
      bench.webhooks.subscribe(principal, { ...input, ...given });
    await subscribe();
    await bench.advance(599_999);
    await subscribe();
    expect(challenges).toHaveLength(1);
    await bench.advance(1);
    await subscribe();
    expect(challenges).toHaveLength(2);
    await subscribe({ secret: secretOf("two") });
    expect(challenges).toHaveLength(3);
    await subscribe({ secret: secretOf("two") });
    await bench.webhooks.revokeEventSubscription();
    await subscribe({ secret: secretOf("two") });
    expect(challenges).toHaveLength(3);
    await bench.webhooks.revokeEventSubscription();
    await subscribe({ secret: secretOf("two") }, "owner");
    expect(challenges).toHaveLength(4);
    await bench.webhooks.revokeEventSubscription();
    await subscribe({ url: elsewhere });
    expect(challenges).toHaveLength(5);
    bench.restart();
    await subscribe({ url: elsewhere });
    expect(challenges).toHaveLength(6);
  },
);

verifies(
  "ING-208",
  "a secret that was replaced is challenged again, however soon it comes back",
  async () => {
    const bench = make();
    const { challenges } = counting(bench);
    const subscribe = (seed: string) =>
      bench.webhooks.subscribe("runtime", { ...input, secret: secretOf(seed) });
    for (const seed of ["one", "two", "one", "two"]) await subscribe(seed);
    expect(challenges).toHaveLength(4);
    await subscribe("two");
    expect(challenges).toHaveLength(4);
    // One that did not pass replaces nothing.
    const passing = bench.post;
    bench.post = async () => answered(404);
    expect((await subscribe("three")).kind).toBe("unverified");
    bench.post = passing;
    await subscribe("two");
    expect(challenges).toHaveLength(4);
  },
);

verifies("ING-90", "a rotated secret signs from its challenge on", async () => {
  const bench = make();
  const { deliveries } = counting(bench);
  await bench.webhooks.subscribe("runtime", input);
  const first = bench.admit("under the first");
  await bench.settle();
  await bench.webhooks.subscribe("runtime", { ...input, secret: secretOf("two") });
  bench.admit("under the second");
  await bench.settle();
  const signatures = deliveries.map(({ headers }) => headers["webhook-signature"]);
  expect(deliveries[0]?.headers["webhook-id"]).toBe(eventIdOf(first));
  expect(signatures[0]).not.toBe(signatures[1]);
  expect(bench.db.get("SELECT secret FROM webhook_registration")?.["secret"]).toBe(secretOf("two"));
});

verifies("ING-109", "ten challenges go out in a minute, and no more", async () => {
  const bench = make({ post: async () => answered(500) });
  const subscribe = () => bench.webhooks.subscribe("runtime", input);
  for (let i = 0; i < 10; i++) expect((await subscribe()).kind).toBe("unverified");
  expect(await subscribe()).toEqual({ kind: "too-many-challenges", max: 10 });
  await bench.advance(60_000);
  expect((await subscribe()).kind).toBe("unverified");
});

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
