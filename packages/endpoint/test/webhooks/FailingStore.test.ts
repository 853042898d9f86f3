// A store that refuses to be written to for a while, as on a full disk: nothing is lost, and no receiver is asked again for what
// it has already answered.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { Database } from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import * as Limits from "../../src/webhooks/Limits.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import { secret, url } from "./ScriptedReceiver.ts";
import { answered, createBench, receiver, type Request, type WebhookBench } from "./WebhookBench.ts";

interface Filling {
  readonly db: Database;
  readonly bench: WebhookBench;
  readonly got: Array<Request>;
  /** What a delivery is answered with; the disk is full from that moment on where `fills` is set. */
  status: number;
  fills: boolean;
  isFull: boolean;
}

const filling = async (): Promise<Filling> => {
  const db = temporaryStore();
  const failing = new Proxy(db, {
    get: (target, name: keyof typeof db) =>
      name === "transaction" && it.isFull
        ? () => {
            throw new StoreError("unavailable", "the disk is full", "make room");
          }
        : target[name],
  });
  const post = receiver((request) => {
    it.got.push(request);
    it.isFull ||= it.fills;
    return answered(it.status);
  });
  const bench = createBench(() => failing, { post });
  const it: Filling = { db, bench, got: [], status: 200, fills: false, isFull: false };
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
  return it;
};

verifies(
  "ING-103",
  "a store that fails for a while loses nothing: the delivery goes on when it is back",
  async () => {
    const it = await filling();
    const { bench, db, got } = it;
    bench.admit("waits for the disk");
    it.isFull = true;
    await bench.advance(60_000);
    // It is no fault of the receiver's.
    expect(bench.log).not.toContain("a webhook delivery failed");
    expect(Inbox.unreadCount(db)).toBe(1);
    it.isFull = false;
    await bench.advance(Limits.storeRetryMs);
    expect(Inbox.unreadCount(db)).toBe(0);
    expect(got).toHaveLength(1);
  },
);

verifies(
  "ING-262",
  "an answer that the store refuses is asked for once, and recorded as of its time",
  async () => {
    const states = { 200: "active", 410: "rejected", 503: "retrying" };
    for (const [status, state] of Object.entries(states)) {
      const it = await filling();
      const { bench, db, got } = it;
      it.status = Number(status);
      it.fills = true;
      const at = bench.now;
      bench.admit("answered on a full disk");
      await bench.advance(10 * Limits.storeRetryMs);
      // Whatever else arrives meanwhile does not have it asked again either.
      bench.webhooks.wake();
      await bench.settle();
      expect([state, got.length, Inbox.unreadCount(db)]).toEqual([state, 1, 1]);
      it.fills = false;
      it.isFull = false;
      it.status = 200;
      const recorded = bench.webhooks.webhookAttempts().length;
      bench.post = receiver((request) => (got.push(request), new Promise(() => undefined)));
      await bench.advance(Limits.storeRetryMs);
      const attempts = bench.webhooks.webhookAttempts();
      expect([attempts.length, attempts[0]?.at]).toEqual([recorded + 1, new Date(at).toISOString()]);
      const shown = bench.webhooks.eventSubscriptionStatus();
      expect(shown).toMatchObject({
        state,
        ...(status === "200" ? { lastDeliveryAt: attempts[0]?.at } : { failedSince: attempts[0]?.at }),
      });
      // Only what failed goes out again: its wait is over long since.
      expect(got).toHaveLength(status === "503" ? 2 : 1);
    }
  },
);

verifies("ING-262", "a stop tries once more to record an answer, and leaves no timer", async () => {
  for (const isBack of [true, false]) {
    const it = await filling();
    const { bench, db } = it;
    it.fills = true;
    bench.admit("answered before the stop");
    await bench.settle();
    it.isFull = !isBack;
    await bench.webhooks.close();
    expect([Inbox.unreadCount(db), bench.waits()]).toEqual([isBack ? 0 : 1, []]);
  }
});

verifies("ING-262", "an answer that waits for the store counts for nothing that came since", async () => {
  const it = await filling();
  const { bench, db, got } = it;
  it.status = 410;
  it.fills = true;
  bench.admit("refused for good by the receiver of then");
  await bench.settle();
  it.fills = false;
  it.isFull = false;
  it.status = 200;
  await bench.webhooks.revokeEventSubscription();
  expect((await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null })).kind).toBe("subscribed");
  await bench.settle();
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active", failedAttempts: 0 });
  expect([got.length, Inbox.unreadCount(db), Occurrence.current(db)]).toEqual([2, 0, null]);
});

verifies(
  "ING-262",
  "a challenge that was passed is not sent again because the store refused its grant",
  async () => {
    const it = await filling();
    const { bench } = it;
    await bench.webhooks.revokeEventSubscription();
    await bench.advance(Limits.verificationMsMax);
    let challenges = 0;
    const passing = receiver(() => answered(200));
    bench.post = (request, signal) => {
      challenges += 1;
      it.isFull = true;
      return passing(request, signal);
    };
    const subscribe = () => bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
    await expect(subscribe()).rejects.toMatchObject({ reason: "persistence-failed" });
    it.isFull = false;
    expect((await subscribe()).kind).toBe("subscribed");
    expect(challenges).toBe(1);
  },
);

verifies("ING-103", "an attempt that breaks after it was abandoned leaves its successor alone", async () => {
  const it = await filling();
  const { bench } = it;
  const first = Promise.withResolvers<never>();
  bench.post = receiver(() => first.promise);
  bench.admit("under way");
  await bench.settle();
  await bench.webhooks.revokeEventSubscription();
  const later: Array<Request> = [];
  bench.post = receiver((request) => (later.push(request), new Promise(() => undefined)));
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
  await bench.settle();
  // No answer at all: a defect of the client, which no script of a receiver has.
  first.resolve(undefined as never);
  await bench.advance(10 * Limits.storeRetryMs);
  expect(later).toHaveLength(1);
});
