// What a subscriber and an owner are told of a callback that failed, on the wire: each cause in words, and the draft's word where
// the draft's are the only ones.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer, FailureCategory } from "../../src/callbacks/CallbackClient.ts";
import { answered, receiver, secretOf } from "../webhooks/WebhookBench.ts";
import { ask, delivery, good, name, serve, subscribe, until, url } from "./SubscribedEndpoint.ts";
import { textItem } from "./TestEndpoint.ts";

verifies(
  ["ING-203", "ING-205"],
  "an unverified callback is told why in words of its own, beside the draft's word",
  async () => {
    const served = await serve();
    const told = new Map<string, unknown>();
    const failed = (category: FailureCategory): CallbackAnswer => ({ kind: "failed", category });
    for (const [answer, reason] of [
      [failed("address-refused"), "connection_refused"],
      [failed("dns-failed"), "connection_refused"],
      [failed("connection-refused"), "connection_refused"],
      [failed("timeout"), "timeout"],
      [failed("tls-failed"), "tls_error"],
      [answered(302), "http_4xx"],
      [answered(404), "http_4xx"],
      [answered(500), "http_5xx"],
      [answered(200), "challenge_failed"],
    ] as const) {
      served.post = async () => answer;
      const { code, message, data } = (await subscribe(served)).error ?? {};
      expect([code, data]).toEqual([-32_015, { reason }]);
      told.set(message as string, answer);
    }
    // No two of them are the same, and what was never tried is not said to have failed to answer.
    const messages = [...told.keys()];
    expect(messages).toHaveLength(9);
    for (const message of messages.slice(0, 2))
      expect(message).toMatch(/^Nothing was sent to the callback: /);
    expect(messages[5]).toContain("redirect");
  },
);

verifies(
  "ING-205",
  "a redirect is one to the owner, and the draft's nearest word to the subscriber",
  async () => {
    const served = await serve();
    served.post = receiver(() => answered(302));
    await subscribe(served);
    served.endpoint.deliver(textItem("elsewhere"));
    await until(() => {
      const status = served.endpoint.operations.eventSubscriptionStatus();
      return status.kind === "subscription" && status.state === "retrying";
    });
    expect(served.endpoint.operations.eventSubscriptionStatus()).toMatchObject({
      lastError: "http_3xx",
      lastStatus: 302,
    });
    expect((await subscribe(served)).result?.["deliveryStatus"]).toMatchObject({ lastError: "http_4xx" });
  },
);

verifies("ING-207", "its own unsubscription ends a subscription that was refused for good", async () => {
  const served = await serve();
  served.post = receiver(() => answered(410));
  await subscribe(served);
  served.endpoint.deliver(textItem("refused"));
  const passed = receiver((request) => (served.deliveries.push(request), answered(200)));
  await until(() => {
    const status = served.endpoint.operations.eventSubscriptionStatus();
    return status.kind === "subscription" && status.state === "rejected";
  });
  served.post = passed;
  expect((await subscribe(served)).error?.message).toMatch(/unsubscribe and subscribe again, or .* owner/);
  expect((await ask(served, "events/unsubscribe", { name, delivery: { url } })).error).toBeUndefined();
  expect((await subscribe(served)).error).toBeUndefined();
  await until(() => served.deliveries.length === 1);
});

verifies("ING-260", "who is overtaken by a later call of its own hears which of the two counts", async () => {
  const served = await serve();
  const passing = served.post;
  const slow = Promise.withResolvers<void>();
  let isAsked = false;
  served.post = async (request, signal) => {
    isAsked = true;
    await slow.promise;
    return passing(request, signal);
  };
  const earlier = subscribe(served);
  await until(() => isAsked);
  served.post = passing;
  const later = { ...good, delivery: { ...delivery, secret: secretOf("two") } };
  expect((await subscribe(served, later)).error).toBeUndefined();
  slow.resolve();
  const { code, message, data } = (await earlier).error ?? {};
  expect([code, data]).toEqual([-32_015, { reason: "challenge_failed" }]);
  expect(message).toContain("A later subscription of the same callback was granted");
});
