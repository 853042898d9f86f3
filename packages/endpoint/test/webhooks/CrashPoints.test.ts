// A process that dies before and after every commit and every request of its webhook, one death a run. The file is opened
// again by another process each time, and what the receiver has seen in the end is what it may have seen.

import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Database from "../../src/store/Database.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { temporaryPath } from "../store/TemporaryStore.ts";
import { answered, createBench, type Death, Killed, receiver, secretOf, urlOf } from "./WebhookBench.ts";

const url = urlOf("https://receiver.example/hook");

interface Reception {
  readonly id: string;
  readonly body: string;
  readonly taken: boolean;
}

interface Run {
  readonly steps: number;
  readonly died: boolean;
  readonly got: ReadonlyArray<Reception>;
  readonly admitted: ReadonlyArray<string>;
  /** What the owner took out of the inbox by hand. */
  readonly discarded: string;
}

const story = async (death?: Death): Promise<Run> => {
  const path = temporaryPath();
  let db = Database.open(path);
  const got: Array<Reception> = [];
  let failures = 2;
  const post = receiver(({ headers, body }) => {
    const id = headers["webhook-id"] as string;
    // The second item fails twice, and so does whatever is sent while it does.
    const taken = got.length === 0 || failures-- <= 0;
    got.push({ id, body: Buffer.from(body).toString("utf8"), taken });
    return answered(taken ? 200 : 503);
  });
  const bench = createBench(() => db, { post, ...(death === undefined ? {} : { death }) });
  let died = false;
  let steps = 0;

  const revive = (): boolean => {
    if (!bench.isDead()) return false;
    died = true;
    db.close();
    db = Database.open(path);
    bench.restart();
    return true;
  };
  /** What a client does whose call broke off: it calls again. */
  const insist = async (call: () => Promise<unknown>): Promise<void> => {
    for (;;) {
      try {
        await call();
        return;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        revive();
      }
    }
  };
  const pass = async (milliseconds: number): Promise<void> => {
    await bench.advance(milliseconds);
    if (revive()) await bench.advance(milliseconds);
    if (!died) steps = bench.steps();
  };
  const subscribe = (seed: string) => () =>
    bench.webhooks.subscribe("runtime", { url, secret: secretOf(seed), ttlMs: null });

  await insist(subscribe("one"));
  await pass(0);
  const admitted = ["first", "second"].map(bench.admit);
  await pass(1_500);
  await insist(subscribe("two"));
  const third = bench.admit("third");
  await pass(10_000);
  await insist(() => bench.webhooks.revokeEventSubscription());
  const unwanted = bench.admit("discarded before anybody is subscribed");
  const last = bench.admit("last");
  bench.acknowledge(unwanted);
  await insist(subscribe("two"));
  await pass(60_000);
  expect(Inbox.unreadCount(db)).toBe(0);
  expect(Occurrence.current(db)).toBeNull();
  expect(db.get("SELECT count(*) AS rows FROM webhook_registration")?.["rows"]).toBe(1);
  db.close();
  return { steps, died, got, admitted: [...admitted, third, last], discarded: unwanted };
};

verifies(
  ["ING-103", "ING-93", "ING-94"],
  "wherever the process dies, every item arrives, in order, with one body, and again only where its receipt was not stored",
  async () => {
    const undisturbed = await story();
    const once = undisturbed.got.filter(({ taken }) => taken).map(({ id }) => id);
    expect(once).toEqual(undisturbed.admitted.map((token) => eventIdOf(token as never)));
    expect(undisturbed.steps).toBeGreaterThan(15);
    let repeated = 0;
    for (let step = 1; step <= undisturbed.steps; step++) {
      for (const when of ["before", "after"] as const) {
        const { died, got, admitted, discarded } = await story({ step, when });
        expect([step, when, died]).toEqual([step, when, true]);
        const taken = got.filter((reception) => reception.taken).map(({ id }) => id);
        const ids = admitted.map((token) => eventIdOf(token as never));
        expect([...new Set(taken)]).toEqual(ids);
        expect(got.map(({ id }) => id)).not.toContain(eventIdOf(discarded as never));
        for (const id of ids) {
          expect(new Set(got.filter((other) => other.id === id).map(({ body }) => body)).size).toBe(1);
        }
        // One death can lose one receipt.
        const extra = taken.length - ids.length;
        expect(extra).toBeLessThanOrEqual(1);
        repeated += extra;
      }
    }
    // It does happen: between a receiver's 2xx and its commit there is nothing that could prevent it.
    expect(repeated).toBeGreaterThan(0);
  },
  120_000,
);
