// Subscriptions that overlap: several calls whose callbacks are asked at the same time, and what ends, or does not end, meanwhile.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import type { SubscribeResult } from "../../src/operations/EventSubscription.ts";
import { elsewhere, input, make, url } from "./CountingReceiver.ts";
import { answered, receiver, secretOf, type WebhookBench } from "./WebhookBench.ts";

interface Held {
  readonly signal: AbortSignal;
  /** Lets the receiver answer, as it does when it passes, or otherwise. */
  readonly answer: (otherwise?: CallbackAnswer) => void;
}

/** A receiver that answers its challenges when the test says so, in whatever order. */
const holding = (bench: WebhookBench): ReadonlyArray<Held> => {
  const held: Array<Held> = [];
  const passing = receiver(() => answered(200));
  bench.post = (request, signal) => {
    const { promise, resolve } = Promise.withResolvers<CallbackAnswer>();
    const pass = async (): Promise<void> => resolve(await passing(request, signal));
    held.push({
      signal,
      answer: (otherwise) => (otherwise === undefined ? void pass() : resolve(otherwise)),
    });
    return promise;
  };
  return held;
};

const minuteMs = 60_000;

/** Two calls for one subscription, the later with another secret and a longer lease. */
const overlap = async (
  bench: WebhookBench,
): Promise<{ readonly earlier: Promise<SubscribeResult>; readonly later: Promise<SubscribeResult> }> => {
  const earlier = bench.webhooks.subscribe("runtime", { ...input, ttlMs: minuteMs });
  await bench.settle();
  const later = bench.webhooks.subscribe("runtime", {
    ...input,
    secret: secretOf("two"),
    ttlMs: 60 * minuteMs,
  });
  await bench.settle();
  return { earlier, later };
};

const inForce = (bench: WebhookBench): unknown => {
  const row = bench.db.get("SELECT secret, lease_ends_at FROM webhook_registration");
  return row === undefined ? null : [row["secret"], Number(row["lease_ends_at"]) - bench.now];
};
const asTheEarlier = [input.secret, minuteMs];
const asTheLater = [secretOf("two"), 60 * minuteMs];

verifies("ING-260", "of two calls for one subscription the later counts, whoever answers first", async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    const bench = make();
    const held = holding(bench);
    const { earlier, later } = await overlap(bench);
    for (const i of order) {
      held[i]?.answer();
      await bench.settle();
    }
    expect((await later).kind).toBe("subscribed");
    expect((await earlier).kind).toBe(order[0] === 0 ? "subscribed" : "superseded");
    expect(inForce(bench)).toEqual(asTheLater);
    // Nor is what came too late believed without a challenge.
    void bench.webhooks.subscribe("runtime", input);
    await bench.settle();
    expect(held).toHaveLength(3);
  }
});

verifies(
  "ING-260",
  "a refresh that needs no challenge supersedes the challenge of a call before it",
  async () => {
    const bench = make();
    await bench.webhooks.subscribe("runtime", input);
    const held = holding(bench);
    const earlier = bench.webhooks.subscribe("runtime", { ...input, secret: secretOf("two") });
    await bench.settle();
    expect((await bench.webhooks.subscribe("runtime", { ...input, ttlMs: minuteMs })).kind).toBe(
      "subscribed",
    );
    held[0]?.answer();
    expect((await earlier).kind).toBe("superseded");
    expect(inForce(bench)).toEqual(asTheEarlier);
  },
);

verifies("ING-260", "a later call that fails changes nothing for the earlier one", async () => {
  const bench = make();
  const held = holding(bench);
  const { earlier, later } = await overlap(bench);
  held[1]?.answer(answered(404));
  expect((await later).kind).toBe("unverified");
  held[0]?.answer();
  expect((await earlier).kind).toBe("subscribed");
  expect(inForce(bench)).toEqual(asTheEarlier);
});

verifies(
  "ING-101",
  "an unsubscription ends no challenge of another principal and of another callback",
  async () => {
    const bench = make();
    const held = holding(bench);
    const subscribing = bench.webhooks.subscribe("runtime", input);
    await bench.settle();
    bench.webhooks.unsubscribe("owner", url);
    bench.webhooks.unsubscribe("runtime", elsewhere);
    held[0]?.answer();
    expect((await subscribing).kind).toBe("subscribed");
  },
);

verifies("ING-261", "a close cuts off the challenges under way, and waits for their end", async () => {
  const bench = make();
  const held = holding(bench);
  const subscribing = bench.webhooks.subscribe("runtime", input);
  await bench.settle();
  let closed = false;
  const closing = bench.webhooks.close().then(() => void (closed = true));
  await bench.settle();
  expect([held[0]?.signal.aborted, closed]).toEqual([true, false]);
  held[0]?.answer({ kind: "failed", category: "connection-lost" });
  await closing;
  expect((await subscribing).kind).toBe("unverified");
});
