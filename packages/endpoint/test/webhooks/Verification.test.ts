// Whether a callback is whose it is said to be: the challenge, what counts as its echo, and for how long and for what it counts.

import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import type { SubscribeInput } from "../../src/operations/EventSubscription.ts";
import { counting, elsewhere, input, make } from "./CountingReceiver.ts";
import { answered, type Request, secretOf } from "./WebhookBench.ts";

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
