// What the log hears of a webhook: each trouble when it begins and when it is found at a start, that it is over, and who granted
// and ended what. Never twice the same, and never a URL or a secret.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { errors } from "../../src/operations/EventSubscription.ts";
import type { Standing, State } from "../../src/webhooks/LifeCycle.ts";
import * as Notices from "../../src/webhooks/Notices.ts";
import { scripted, secret, url } from "./ScriptedReceiver.ts";
import { answered, secretOf } from "./WebhookBench.ts";

const goesOn = "the webhook goes on";
const subscribed = "a webhook was subscribed";
const fails = "a webhook delivery failed";
const stopped = "the webhook receives nothing more";

verifies("ING-202", "failing is told when it begins, and that it is over", async () => {
  const { bench } = await scripted([answered(503), answered(503), answered(200)]);
  bench.admit("late");
  await bench.advance(60_000);
  expect(bench.log).toEqual([subscribed, fails, goesOn]);
  bench.admit("at once");
  await bench.settle();
  expect(bench.log).toHaveLength(3);
});

verifies("ING-202", "the end of a lease is told by the clock, and a refresh that mends it", async () => {
  const { bench } = await scripted();
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: 60_000 });
  await bench.advance(60_000);
  expect(bench.log).toEqual([subscribed, stopped]);
  bench.webhooks.eventSubscriptionStatus();
  await bench.webhooks.resumeEventSubscription();
  expect(bench.log).toHaveLength(2);
  await bench.webhooks.subscribe("runtime", { url, secret, ttlMs: 60_000 });
  expect(bench.log.slice(2)).toEqual([goesOn]);
});

verifies("ING-202", "a start tells of a webhook that does not deliver, and of no other", async () => {
  const { bench } = await scripted([answered(410)]);
  bench.restart();
  expect(bench.log).toEqual([subscribed]);
  bench.admit("refused");
  await bench.settle();
  bench.restart();
  expect(bench.log).toEqual([subscribed, stopped, stopped]);
  await bench.webhooks.revokeEventSubscription();
  bench.restart();
  expect(bench.log.slice(3)).toEqual(["the webhook was revoked"]);
});

verifies("ING-202", "a refresh is no news, another secret and each end are", async () => {
  const { bench } = await scripted();
  const subscribe = (seed: string) =>
    bench.webhooks.subscribe("runtime", { url, secret: secretOf(seed), ttlMs: null });
  await subscribe("one");
  await subscribe("two");
  bench.webhooks.unsubscribe("runtime", url);
  bench.webhooks.unsubscribe("runtime", url);
  expect(bench.log).toEqual([
    subscribed,
    "the webhook's secret was replaced",
    "the webhook was unsubscribed",
  ]);
});

verifies("ING-202", "a trouble is a warning that says why and what to do, its end is none", () => {
  const lines: Array<readonly [level: string, event: string, explanation: unknown]> = [];
  const notices = Notices.create((level, event, fields) =>
    lines.push([level, event, fields?.["explanation"]]),
  );
  const stands = (state: State, failing: Standing["failing"] = null) =>
    notices.stands({ state, failing, dueAt: 0 }, "mended");
  for (const error of errors) {
    const status = error.startsWith("http_") ? 499 : null;
    stands("retrying", { attempts: 1, since: 0, lastAt: 0, error, status });
    stands("active");
  }
  expect(new Set(lines.map(([, , explanation]) => explanation)).size).toBe(errors.length + 1);
  expect(lines.filter(([level]) => level === "warn").every(([, event]) => event === fails)).toBe(true);
  expect(lines.filter(([level]) => level === "info")).toEqual(errors.map(() => ["info", goesOn, "mended"]));
  lines.length = 0;
  const failing = { attempts: 1, since: 0, lastAt: 0, error: "http_4xx", status: 413 } as const;
  stands("suspended", failing);
  stands("rejected", failing);
  stands("rejected", failing);
  stands("expired");
  notices.rests();
  expect(lines.map(([level]) => level)).toEqual(["warn", "warn", "warn", "warn"]);
  const explanations = lines.map(([, , explanation]) => String(explanation));
  expect(explanations[0]).toContain("`social-harness webhook resume`");
  expect(explanations[1]).toMatch(/HTTP 413.*`social-harness webhook revoke`/);
  expect(explanations[2]).toContain("subscribe again");
  expect(explanations[3]).toContain('"mode": "credentials"');
});
