// The end of a lease where nothing else happens: it is noted by the clock, also by one that was set back, and what a receiver
// takes after it leads to nothing more.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Limits from "../../src/webhooks/Limits.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { counting, input, make } from "./CountingReceiver.ts";
import { scripted, secret, url } from "./ScriptedReceiver.ts";
import { answered, receiver, secretOf } from "./WebhookBench.ts";

const minuteMs = 60_000;
const over = "the webhook receives nothing more";

verifies(
  "ING-202",
  "a lease ends by the clock where nothing is due, and while a delivery waits",
  async () => {
    for (const answer of [answered(200), answered(503, Limits.retryMsMax)]) {
      const { bench, got } = await scripted([answer]);
      await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: minuteMs });
      bench.admit("taken, or put off until after the lease");
      await bench.settle();
      await bench.advance(minuteMs - 1);
      expect(bench.log).not.toContain(over);
      await bench.advance(1);
      expect(bench.log).toContain(over);
      expect([got.length, bench.waits()]).toEqual([1, []]);
    }
  },
);

verifies("ING-83", "a receipt after the end of the lease makes no other delivery due", async () => {
  const { bench } = await scripted();
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: minuteMs });
  const answer = Promise.withResolvers<CallbackAnswer>();
  bench.post = receiver(() => answer.promise);
  bench.admit("under way when the lease ends");
  bench.admit("for after a refresh");
  await bench.settle();
  bench.now += minuteMs;
  expect(bench.webhooks.isConsumedByWebhook()).toBe(false);
  answer.resolve(answered(200));
  await bench.settle();
  expect([Inbox.unreadCount(bench.db), Occurrence.current(bench.db)]).toEqual([1, null]);
  expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "expired" });
});

verifies("ING-263", "with a clock that was set back no timer waits longer than a lease can be", async () => {
  const { bench } = await scripted();
  bench.now -= 40 * Limits.leaseMsMax;
  bench.webhooks.wake();
  expect(bench.waits()).toEqual([Limits.leaseMsMax]);
});

verifies(
  "ING-263",
  "with a clock that was set back no challenge counts longer, and none is forbidden",
  async () => {
    const bench = make();
    const { challenges } = counting(bench);
    for (let i = 0; i < 10; i++)
      await bench.webhooks.subscribe("runtime", { ...input, secret: secretOf(`${i}`) });
    expect(challenges).toHaveLength(10);
    bench.now -= 3_600_000;
    expect((await bench.webhooks.subscribe("runtime", { ...input, secret: secretOf("9") })).kind).toBe(
      "subscribed",
    );
    expect(challenges).toHaveLength(11);
  },
);
