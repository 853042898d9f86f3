// One delivery after another: what is sent, what a receipt does, and that nothing is sent twice.

import { createHmac } from "node:crypto";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import { itemEvent } from "../../src/mcp/Subscriptions.ts";
import * as Limits from "../../src/webhooks/Limits.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { seededRandom } from "../ingress/CertifiedPosts.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import { idsOf, scripted, secret, url } from "./ScriptedReceiver.ts";
import { answered, createBench, itemOf, type Request } from "./WebhookBench.ts";

const bodyOf = ({ body }: Request) =>
  JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>;

verifies(
  ["ING-92", "ING-94", "ING-96"],
  "items are delivered in order, each retired by its receipt and the next one offered at once",
  async () => {
    const { bench, got } = await scripted();
    const tokens = ["a", "b", "c"].map(bench.admit);
    for (let i = 0; i < 5; i++) await bench.settle();
    expect(idsOf(got)).toEqual(tokens.map(eventIdOf));
    expect(Inbox.unreadCount(bench.db)).toBe(0);
    expect(Occurrence.current(bench.db)).toBeNull();
    expect(bodyOf(got[0] as Request)).toEqual({
      eventId: eventIdOf(tokens[0] as never),
      name: "org.social-harness/inbox.item",
      timestamp: "2026-11-30T12:00:00.000Z",
      data: { kind: "item", item: itemOf("a") },
      cursor: null,
    });
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({
      state: "active",
      lastDeliveryAt: "2026-11-30T12:00:00.000Z",
      failedAttempts: 0,
    });
    for (const token of tokens) expect(Inbox.readEvent(bench.db, eventIdOf(token)).item).toBeDefined();
  },
);

verifies(["ING-96", "ING-165"], "the owner's words stand beside the item, never inside it", async () => {
  const { bench, got } = await scripted();
  bench.db.transaction(() => {
    const writing = { now: bench.now, random: seededRandom("guided") };
    Inbox.admit(bench.db, { item: itemOf("guided"), guidance: "ask me first", released: true, ...writing });
  });
  bench.webhooks.wake();
  await bench.settle();
  const data = bodyOf(got[0] as Request)["data"] as object;
  expect(data).toEqual({ kind: "item", item: itemOf("guided"), guidance: "ask me first", released: true });
  // What is published to receivers is closed, so each field that may come stands in it.
  expect(Object.keys(itemEvent.payloadSchema.properties)).toEqual(expect.arrayContaining(Object.keys(data)));
});

verifies(
  "ING-97",
  "an envelope over 262,144 bytes carries a reference, and read_event has the item",
  async () => {
    const { bench, got } = await scripted();
    bench.admit("");
    await bench.settle();
    const empty = (got[0] as Request).body.byteLength;
    const largest = bench.admit("x".repeat(Limits.envelopeBytesMax - empty));
    const over = bench.admit("y".repeat(Limits.envelopeBytesMax - empty + 1));
    const wide = bench.admit("é".repeat((Limits.envelopeBytesMax - empty) / 2 + 1));
    for (let i = 0; i < 5; i++) await bench.settle();
    const [, fits, ...references] = got;
    expect(idsOf(got).slice(1)).toEqual([largest, over, wide].map(eventIdOf));
    expect((fits as Request).body.byteLength).toBe(Limits.envelopeBytesMax);
    expect(bodyOf(fits as Request)["data"]).toMatchObject({ kind: "item" });
    for (const [i, token] of [over, wide].entries()) {
      const { item } = Inbox.readEvent(bench.db, eventIdOf(token));
      expect(bodyOf(references[i] as Request)["data"]).toEqual({
        kind: "reference",
        itemKind: "multicast",
        bytes: CanonicalJson.byteLength(item as never),
      });
    }
  },
);

verifies(
  ["ING-93", "ING-95"],
  "every attempt sends the stored bytes under the same id, with a signature of its own time",
  async () => {
    const failures = [answered(500), answered(302), answered(404)];
    const lost = { kind: "failed", category: "connection-lost" } as never;
    const { bench, got } = await scripted([...failures, lost, answered(204)]);
    const token = bench.admit("stubborn");
    await bench.settle();
    const stored = Occurrence.current(bench.db);
    expect(Buffer.from(stored?.body ?? [])).toEqual(Buffer.from((got[0] as Request).body));
    bench.restart();
    await bench.advance(60_000);
    expect(got).toHaveLength(5);
    expect(new Set(idsOf(got))).toEqual(new Set([eventIdOf(token)]));
    expect(new Set(got.map(({ body }) => Buffer.from(body).toString("utf8"))).size).toBe(1);
    const seconds = got.map(({ headers }) => Number(headers["webhook-timestamp"]));
    const waits = seconds.slice(1).map((second, i) => second - (seconds[i] as number));
    expect(waits).toEqual([1, 2, 4, 8]);
    expect(new Set(got.map(({ headers }) => headers["webhook-signature"])).size).toBe(5);
    expect(Inbox.unreadCount(bench.db)).toBe(0);
  },
);

verifies(
  "ING-93",
  "the signature is over id, time and exact body, under the secret of the registration",
  async () => {
    const { bench, got } = await scripted();
    bench.admit("signed");
    await bench.settle();
    const { headers, body } = got[0] as Request;
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${Buffer.from(body).toString("utf8")}`;
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const mac = createHmac("sha256", key).update(signed).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${mac}`);
    expect(headers["webhook-timestamp"]).toBe(String(bench.now / 1_000));
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["X-MCP-Subscription-Id"]).toMatch(/^sub_[\w-]{43}$/);
  },
);

verifies(
  "ING-104",
  "an item that leaves the inbox by another way takes its delivery and its failures with it",
  async () => {
    const script = await scripted([answered(500)]);
    const { bench, got } = script;
    const unwanted = bench.admit("unwanted");
    const next = bench.admit("next");
    await bench.settle();
    script.answers = [answered(200)];
    bench.acknowledge(unwanted);
    await bench.settle();
    expect(idsOf(got)).toEqual([unwanted, next].map(eventIdOf));
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "active", failedAttempts: 0 });
    // Acknowledging what is not due changes nothing of what is.
    script.answers = [answered(500)];
    const due = bench.admit("due");
    const other = bench.admit("other");
    await bench.settle();
    bench.acknowledge(other);
    expect(Occurrence.current(bench.db)?.deliveryToken).toBe(due);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "retrying", failedAttempts: 1 });
  },
);

verifies(
  "ING-104",
  "what recovery retires before delivery starts is never sent again, and still read under its event id",
  async () => {
    const script = await scripted([answered(500)]);
    const { bench, got } = script;
    const lost = bench.admit("its context was lost");
    const kept = bench.admit("kept");
    await bench.settle();
    script.answers = [answered(200)];
    bench.restart((db) => {
      Inbox.acknowledge(db, lost, bench.now);
      Occurrence.drop(db, [kept, lost], bench.now);
    });
    await bench.advance(10_000);
    expect(idsOf(got)).toEqual([lost, kept].map(eventIdOf));
    expect(Inbox.readEvent(bench.db, eventIdOf(lost)).item).toEqual(itemOf("its context was lost"));
  },
);

verifies("ING-104", "a drop that is rolled back has not happened", async () => {
  const { bench } = await scripted([answered(500)]);
  const token = bench.admit("stays");
  await bench.settle();
  const before = bench.webhooks.eventSubscriptionStatus();
  expect(() =>
    bench.db.transaction(() => {
      Occurrence.drop(bench.db, [token], bench.now);
      throw new Error("the caller changed its mind");
    }),
  ).toThrow("changed its mind");
  expect(Occurrence.current(bench.db)?.deliveryToken).toBe(token);
  expect(bench.webhooks.eventSubscriptionStatus()).toEqual(before);
});

verifies("ING-105", "the log of attempts is bounded and holds neither URL nor secret nor body", async () => {
  const { bench, got } = await scripted([answered(500)]);
  bench.admit("the words of this message");
  for (let i = 0; i < 3; i++) {
    await bench.advance(86_000_000);
    await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
    await bench.webhooks.resumeEventSubscription();
  }
  for (let i = 0; i < 600; i++) {
    await bench.webhooks.resumeEventSubscription();
    await bench.settle();
  }
  const attempts = bench.webhooks.webhookAttempts();
  expect(attempts).toHaveLength(Limits.attemptsKept);
  expect(attempts[0]).toEqual({
    at: new Date(bench.now).toISOString(),
    purpose: "delivery",
    category: "status",
    status: 500,
    eventId: got[0]?.headers["webhook-id"],
    durationMs: 0,
  });
  const columns = bench.db
    .all("SELECT * FROM webhook_attempt")
    .map((row) => JSON.stringify(row))
    .join("");
  for (const word of ["receiver.example", "whsec_", "words"]) expect(columns).not.toContain(word);
});

verifies("ING-108", "without a registration nothing is made, kept or waited for", async () => {
  const db = temporaryStore();
  const bench = createBench(() => db);
  for (let i = 0; i < 100; i++) bench.admit(`${i}`);
  await bench.advance(86_400_000);
  expect([bench.steps(), Occurrence.current(db)]).toEqual([0, null]);
  expect(bench.webhooks.isConsumedByWebhook()).toBe(false);
  for (let i = 0; i < 10_000; i++) bench.webhooks.wake();
  expect([bench.steps(), bench.waits()]).toEqual([0, []]);
});

verifies("ING-92", "ten thousand items are drained in order, as fast as they are received", async () => {
  const { bench, got } = await scripted();
  await bench.webhooks.revokeEventSubscription();
  const tokens = bench.db.transaction(() => Array.from({ length: 10_000 }, (_, i) => bench.admit(`${i}`)));
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
  for (let i = 0; i < 20_000 && got.length < tokens.length; i++) await bench.settle();
  expect(idsOf(got)).toEqual(tokens.map(eventIdOf));
});

verifies(
  "ING-194",
  "an event is read after receipt, revocation, the end of a lease and a restart, and goes to the next receiver unchanged",
  async () => {
    const script = await scripted([answered(413)]);
    const { bench, got } = script;
    const token = bench.admit("refused by one, taken by the next");
    await bench.settle();
    const read = () => Inbox.readEvent(bench.db, eventIdOf(token));
    const first = read();
    // An unchanged receiver refuses the same item again, as often as it is asked.
    for (const change of [
      () => undefined,
      () => bench.restart(),
      () => bench.advance(Limits.leaseMsMax),
      () => void (script.answers = [answered(200)]),
    ]) {
      await change();
      expect(read()).toEqual(first);
      await bench.webhooks.revokeEventSubscription();
      expect([read(), Inbox.unreadCount(bench.db)]).toEqual([first, 1]);
      await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: null });
      await bench.settle();
    }
    expect(Inbox.unreadCount(bench.db)).toBe(0);
    expect(read()).toEqual(first);
    expect(got).toHaveLength(5);
    expect(new Set(idsOf(got))).toEqual(new Set([eventIdOf(token)]));
    expect(new Set(got.map(({ body }) => Buffer.from(body).toString("utf8"))).size).toBe(1);
  },
);

verifies(
  "ING-198",
  "a reference carries none of the owner's words; who reads the event has them",
  async () => {
    const { bench, got } = await scripted();
    const token = bench.db.transaction(() => {
      const writing = { now: bench.now, random: seededRandom("large and guided") };
      const item = itemOf("x".repeat(Limits.envelopeBytesMax - 200));
      return Inbox.admit(bench.db, { item, guidance: "ask me first", released: true, ...writing });
    });
    bench.webhooks.wake();
    await bench.settle();
    expect(Object.keys(bodyOf(got[0] as Request)["data"] as object).toSorted()).toEqual([
      "bytes",
      "itemKind",
      "kind",
    ]);
    expect(Inbox.readEvent(bench.db, eventIdOf(token))).toMatchObject({
      guidance: "ask me first",
      released: true,
    });
  },
);
