// `events/subscribe` and `events/unsubscribe` on the wire of a real endpoint in credentials mode: shapes, refusals, and what
// becomes of a stream and of a request that nobody waits for any more.

import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import { answered, receiver, secretOf } from "../webhooks/WebhookBench.ts";
import * as RawHttp from "./RawHttp.ts";
import { ask, delivery, good, name, secret, serve, subscribe, until, url } from "./SubscribedEndpoint.ts";
import { ownerToken, runtimeToken, textItem } from "./TestEndpoint.ts";

verifies(
  "ING-85",
  "events/list offers the item's event, delivered to a webhook, in the draft's shape",
  async () => {
    const served = await serve();
    const { result } = await ask(served, "events/list", {});
    expect(result?.["events"]).toEqual([
      {
        name,
        description: expect.stringContaining("inbox") as string,
        delivery: ["webhook"],
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
        payloadSchema: expect.objectContaining({ type: "object", required: ["kind"] }) as object,
      },
    ]);
  },
);

verifies(
  ["ING-85", "ING-87", "ING-88"],
  "a subscription, its refresh and its end have the draft's shapes",
  async () => {
    const served = await serve();
    const first = (await subscribe(served)).result as Record<string, unknown>;
    expect(first).toMatchObject({ cursor: null, truncated: false });
    expect(first["id"]).toMatch(/^sub_[\w-]{43}$/);
    expect(first["refreshBefore"]).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(first).not.toHaveProperty("deliveryStatus");
    const token = served.endpoint.deliver(textItem("hello"));
    await until(() => served.deliveries.length === 1);
    expect(served.deliveries[0]?.headers["webhook-id"]).toBe(eventIdOf(token));
    expect(served.deliveries[0]?.headers["X-MCP-Subscription-Id"]).toBe(first["id"]);
    await until(() => served.endpoint.operations.pendingCount() === 0);
    for (const ttlMs of [null, 5, 3_600_000]) {
      const params = { ...good, ttlMs, cursor: null, maxAgeMs: null };
      const refreshed = (await subscribe(served, params)).result;
      expect(refreshed?.["id"]).toBe(first["id"]);
      expect(refreshed?.["refreshBefore"]).not.toBeNull();
      expect(refreshed?.["deliveryStatus"]).toEqual({
        active: true,
        lastDeliveryAt: expect.any(String) as string,
        lastError: null,
      });
    }
    const ends = [
      { name, arguments: {}, delivery: { url } },
      { name, delivery: { mode: "webhook", url } },
    ];
    for (const params of ends) {
      const { result, error } = await ask(served, "events/unsubscribe", params);
      expect(error).toBeUndefined();
      const { resultType, _meta, ...rest } = result as Record<string, unknown>;
      expect([resultType, rest]).toEqual(["complete", {}]);
    }
    expect(served.endpoint.operations.eventSubscriptionStatus()).toEqual({ kind: "none" });
  },
);

verifies(
  ["ING-86", "ING-209", "MGT-60"],
  "C38: what is malformed is named at its place, and no error repeats a URL or a secret",
  async () => {
    const served = await serve();
    const place = async (params: Readonly<Record<string, unknown>>, method = "events/subscribe") => {
      const answer = await RawHttp.rpc(served.endpoint.port, method, params, runtimeToken);
      for (const word of ["whsec_A", "a-secret-part", "hunter2"]) expect(answer.text).not.toContain(word);
      const { code, data } = answer.body.error ?? {};
      return [code, (data?.["issues"] as ReadonlyArray<{ readonly path: unknown }>)?.map(({ path }) => path)];
    };
    const bytes = (count: number) => `whsec_${Buffer.alloc(count, 0xfb).toString("base64")}`;
    const secrets = [
      "",
      "whsec_",
      "A".repeat(32),
      bytes(23),
      bytes(65),
      bytes(25).replace(/=+$/, ""),
      bytes(24).replaceAll("+", "-"),
      `${bytes(24)}\n`,
      ` ${bytes(24)}`,
      `whsec_${Buffer.alloc(25).toString("base64").replace("A==", "B==")}`,
      `WHSEC_${Buffer.alloc(24).toString("base64")}`,
    ];
    for (const bad of secrets) {
      const params = { ...good, delivery: { ...delivery, secret: bad } };
      expect([bad, await place(params)]).toEqual([bad, [-32_602, [["delivery", "secret"]]]]);
    }
    for (const [count, isGood] of [
      [24, true],
      [64, true],
    ] as const) {
      const answer = await subscribe(served, { ...good, delivery: { ...delivery, secret: bytes(count) } });
      expect(answer.error === undefined).toBe(isGood);
    }
    const urls = [
      "",
      "receiver.example/a-secret-part",
      "http://receiver.example/a-secret-part",
      "ftp://receiver.example",
      "https://",
      "https://user@receiver.example/",
      "https://user:hunter2@receiver.example/",
      "https://receiver.example/#a-secret-part",
      "https://receiver.example/#",
      `https://receiver.example/${"x".repeat(2_048)}`,
    ];
    for (const bad of urls) {
      const params = { ...good, delivery: { ...delivery, url: bad } };
      expect([bad, await place(params)]).toEqual([bad, [-32_602, [["delivery", "url"]]]]);
      const end = { name, delivery: { url: bad } };
      expect(await place(end, "events/unsubscribe")).toEqual([-32_602, [["delivery", "url"]]]);
    }
    const both = { ...good, delivery: { mode: "webhook", url: "", secret: "" } };
    expect((await place(both))[1]).toEqual([
      ["delivery", "url"],
      ["delivery", "secret"],
    ]);
    const malformed: ReadonlyArray<readonly [Record<string, unknown>, ReadonlyArray<string>]> = [
      [{ arguments: {}, delivery }, ["name"]],
      [{ ...good, name: 5 }, ["name"]],
      [{ ...good, arguments: { a: 1 } }, ["arguments", "a"]],
      [{ name }, ["delivery"]],
      [{ ...good, delivery: { ...delivery, mode: "push" } }, ["delivery", "mode"]],
      [{ ...good, delivery: { ...delivery, more: 1 } }, ["delivery", "more"]],
      [{ ...good, cursor: "earlier" }, ["cursor"]],
      [{ ...good, ttlMs: 0.5 }, ["ttlMs"]],
      [{ ...good, ttlMs: "a day" }, ["ttlMs"]],
      [{ ...good, ttlMs: 0 }, ["ttlMs"]],
      [{ ...good, ttlMs: -5 }, ["ttlMs"]],
      [{ ...good, more: 1 }, ["more"]],
    ];
    for (const [params, path] of malformed) expect(await place(params)).toEqual([-32_602, [path]]);
  },
);

verifies(
  ["ING-82", "ING-89", "ING-91", "ING-109", "ING-101"],
  "each refusal has the draft's code and closed data",
  async () => {
    const served = await serve();
    const passing = served.post;
    const refusal = async (params: Readonly<Record<string, unknown>> = good, token?: string) => {
      const { code, data } = (await subscribe(served, params, token)).error ?? {};
      return [code, data];
    };
    expect(await refusal({ ...good, name: "unknown" })).toEqual([-32_011, { kind: "event" }]);
    served.post = async () => ({ kind: "failed", category: "tls-failed" });
    expect(await refusal()).toEqual([-32_015, { reason: "tls_error" }]);
    served.post = async () => answered(200);
    expect(await refusal()).toEqual([-32_015, { reason: "challenge_failed" }]);
    served.post = passing;
    expect((await subscribe(served)).error).toBeUndefined();
    const elsewhere = { ...good, delivery: { ...delivery, url: "https://elsewhere.example/" } };
    const occupied = [-32_013, { limit: "subscriptions", max: 1 }];
    expect(await refusal(elsewhere)).toEqual(occupied);
    expect(await refusal(good, ownerToken)).toEqual(occupied);
    // The owner's unsubscription is of the owner's own subscription, and there is none.
    const end = { name, delivery: { url } };
    expect((await ask(served, "events/unsubscribe", end, ownerToken)).error).toBeUndefined();
    expect(served.endpoint.operations.eventSubscriptionStatus()).toMatchObject({ state: "active" });
    served.post = receiver(() => answered(413));
    served.endpoint.deliver(textItem("too much"));
    await until(() => {
      const status = served.endpoint.operations.eventSubscriptionStatus();
      return status.kind === "subscription" && status.state === "rejected";
    });
    expect(await refusal()).toEqual([-32_015, { reason: "http_4xx" }]);
    await served.endpoint.operations.revokeEventSubscription();
    served.post = async () => answered(500);
    for (let i = 0; i < 7; i++) {
      const rotated = { ...good, delivery: { ...delivery, secret: secretOf(`${i}`) } };
      expect(await refusal(rotated)).toEqual([-32_015, { reason: "http_5xx" }]);
    }
    expect(await refusal({ ...good, delivery: { ...delivery, secret: secretOf("more") } })).toEqual([
      -32_013,
      { limit: "challenges", max: 10 },
    ]);
  },
);

verifies(
  "ING-98",
  "a subscription takes over from the stream, and no stream comes back before its end",
  async () => {
    const served = await serve();
    const { port } = served.endpoint;
    const params = { name: "org.social-harness/inbox.pending" };
    const stream = await RawHttp.stream(port, "events/stream", params, 1, ownerToken);
    expect((await stream.next())?.method).toBe("notifications/events/active");
    expect((await subscribe(served)).error).toBeUndefined();
    const terminated = await stream.next();
    expect(terminated?.method).toBe("notifications/events/terminated");
    expect(terminated?.params?.["error"]).toMatchObject({
      code: -32_013,
      data: { limit: "consumers", max: 1 },
    });
    expect((await stream.next())?.result).toMatchObject({ resultType: "complete" });
    stream.leave();
    const refused = await RawHttp.begin(port, "events/stream", params, 1, ownerToken);
    expect(refused).toMatchObject({
      kind: "answer",
      answer: { body: { error: { code: -32_013, data: { limit: "consumers", max: 1 } } } },
    });
    expect((await ask(served, "events/unsubscribe", { name, delivery: { url } })).error).toBeUndefined();
    const again = await RawHttp.stream(port, "events/stream", params, 1, ownerToken);
    expect((await again.next())?.method).toBe("notifications/events/active");
    again.leave();
  },
);

verifies("ING-100", "a request that was cancelled is granted in store and memory all the same", async () => {
  const served = await serve();
  const { port } = served.endpoint;
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const passing = served.post;
  served.post = async (request, signal) => {
    asked.resolve();
    await gate.promise;
    return passing(request, signal);
  };
  const leaving = new AbortController();
  const request = fetch(served.endpoint.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...RawHttp.headersOf("events/subscribe"),
      ...RawHttp.bearer(runtimeToken),
    },
    body: JSON.stringify(RawHttp.message("events/subscribe", good)),
    signal: leaving.signal,
  });
  await asked.promise;
  leaving.abort();
  await expect(request).rejects.toThrow();
  gate.resolve();
  await until(() => served.endpoint.operations.eventSubscriptionStatus().kind === "subscription");
  const { error } = await ask(
    served,
    "events/stream",
    { name: "org.social-harness/inbox.pending" },
    ownerToken,
  );
  expect(error?.code).toBe(-32_013);
  const token = served.endpoint.deliver(textItem("to whoever subscribed"));
  await until(() => served.deliveries.length === 1);
  expect(served.deliveries[0]?.headers["webhook-id"]).toBe(eventIdOf(token));
  expect(port).toBe(served.endpoint.port);
});

verifies(
  ["MGT-76", "MGT-77", "MGT-78", "ING-105", "ING-106", "ING-102"],
  "the owner's tools and paths show and steer the subscription, and show no URL and no secret",
  async () => {
    const served = await serve();
    const { port } = served.endpoint;
    served.post = receiver(() => answered(500));
    await subscribe(served);
    served.endpoint.deliver(textItem("the words of this message"));
    const shown: Array<string> = [];
    const call = async (tool: string) => {
      const answer = await RawHttp.callTool(port, tool, {}, ownerToken);
      shown.push(answer.text);
      return answer.body.result?.["structuredContent"];
    };
    const path = async (method: string, target: string) => {
      const headers = RawHttp.bearer(ownerToken);
      const answer = await RawHttp.send(port, {
        method,
        path: target,
        headers,
        body: method === "GET" ? "" : "{}",
      });
      shown.push(answer.text);
      return [answer.status, answer.body] as const;
    };
    await until(() => {
      const status = served.endpoint.operations.eventSubscriptionStatus();
      return status.kind === "subscription" && status.state === "retrying";
    });
    expect(await call("event_subscription_status")).toMatchObject({
      kind: "subscription",
      event: name,
      state: "retrying",
      lastError: "http_5xx",
      lastStatus: 500,
      failedAttempts: 1,
      nextAttemptAt: expect.stringMatching(/Z$/) as string,
      waitingItems: 1,
    });
    const [status, attempts] = await path("GET", "/webhook/attempts");
    expect([status, attempts]).toMatchObject([
      200,
      {
        attempts: [
          {
            purpose: "delivery",
            category: "status",
            status: 500,
            eventId: expect.stringMatching(/^evt_/) as string,
          },
          { purpose: "challenge", category: "received", status: 200, eventId: null },
        ],
      },
    ]);
    expect(await path("POST", "/webhook/test")).toMatchObject([200, { kind: "passed" }]);
    served.post = async (): Promise<CallbackAnswer> => ({ kind: "failed", category: "timeout" });
    expect(await path("POST", "/webhook/test")).toMatchObject([
      200,
      { kind: "failed", error: "timeout", category: "timeout", status: null },
    ]);
    served.post = receiver((request) => (served.deliveries.push(request), answered(200)));
    expect(await call("resume_event_subscription")).toEqual({ kind: "resumed" });
    await until(() => served.endpoint.operations.pendingCount() === 0);
    expect(await call("revoke_event_subscription")).toEqual({ kind: "revoked" });
    expect(await call("revoke_event_subscription")).toEqual({ kind: "none" });
    expect(await call("resume_event_subscription")).toEqual({ kind: "none" });
    expect(await path("POST", "/webhook/test")).toEqual([404, { kind: "none" }]);
    const log = JSON.stringify(served.endpoint.log);
    for (const word of ["receiver.example", "a-secret-part", "whsec_", secret.slice(6), "words of this"]) {
      expect([word, shown.join().includes(word), log.includes(word)]).toEqual([word, false, false]);
    }
  },
);

verifies(
  "ING-195",
  "an owner takes what a receiver refuses out of the inbox; the next registration begins with what follows it",
  async () => {
    const served = await serve();
    const { endpoint, deliveries } = served;
    const owner = async (tool: string, input: object = {}) =>
      (await RawHttp.callTool(endpoint.port, tool, input, ownerToken)).body.result?.["structuredContent"];
    const taking = served.post;
    served.post = receiver((request) => (deliveries.push(request), answered(413)));
    await subscribe(served);
    const refused = endpoint.deliver(textItem("too much"));
    const next = endpoint.deliver(textItem("next"));
    await until(() => served.deliveries.length === 1);
    const state = async () =>
      ((await owner("event_subscription_status")) as { readonly state: string }).state;
    while ((await state()) !== "rejected");
    const page = (await owner("read_inbox")) as { readonly items: ReadonlyArray<{ deliveryToken: string }> };
    expect(page.items.map(({ deliveryToken }) => deliveryToken)).toEqual([refused, next]);
    expect(await owner("acknowledge_delivery", { deliveryToken: refused })).toEqual({});
    // That is about the item: the registration is over all the same.
    expect(await owner("resume_event_subscription")).toEqual({ kind: "rejected" });
    expect((await subscribe(served)).error?.code).toBe(-32_015);
    served.post = taking;
    expect(await owner("revoke_event_subscription")).toEqual({ kind: "revoked" });
    await subscribe(served);
    await until(() => endpoint.operations.pendingCount() === 0);
    expect(deliveries.map(({ headers }) => headers["webhook-id"])).toEqual([refused, next].map(eventIdOf));
  },
);
