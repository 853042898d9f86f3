// Webhooks on a real store against their one-page model: random arrivals, answers, calls of subscriber and owner, restarts and
// time, in every order. After each step both say the same, and no receiver got what the store says it had already taken.

import * as fc from "fast-check";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { type DeliveryToken, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Database from "../../src/store/Database.ts";
import * as LifeCycle from "../../src/webhooks/LifeCycle.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { seededRandom } from "../ingress/CertifiedPosts.ts";
import { answered, createBench, receiver, secretOf, urlOf, type WebhookBench } from "./WebhookBench.ts";
import { type Answer, WebhookModel } from "./WebhookModel.ts";

const urls = ["https://one.example/hook", "https://two.example/hook"].map(urlOf);
const secrets = ["one", "two"].map(secretOf);
const principals = ["runtime", "owner"];

type Final = Exclude<Answer, "hangs">;

const answerOf = (answer: Final): CallbackAnswer =>
  answer === "lost"
    ? { kind: "failed", category: "connection-lost" }
    : answered(answer, answer === 503 ? 60_000 : null);

type Command =
  | { readonly kind: "admit" }
  | { readonly kind: "answers"; readonly answer: Answer }
  | { readonly kind: "release"; readonly answer: Final }
  | { readonly kind: "advance"; readonly milliseconds: number }
  | {
      readonly kind: "subscribe";
      readonly principal: number;
      readonly url: number;
      readonly secret: number;
      readonly ttlMs: number | null;
      readonly echoes: boolean;
    }
  | { readonly kind: "unsubscribe"; readonly principal: number; readonly url: number }
  | { readonly kind: "revoke" | "resume" | "restart" }
  | { readonly kind: "acknowledge" | "recover"; readonly choice: number };

/** Mostly the first: two consumers that only ever refuse each other would try little. */
const mostlyFirst = fc.oneof(
  { weight: 9, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constant(1) },
);
const final = fc.constantFrom<Final>(200, 200, 200, 404, 410, 413, 500, 503, "lost");

const commandOf: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Command>({ kind: "admit" }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom<Answer>(200, 200, 200, 404, 410, 413, 500, 500, 503, "lost", "hangs", "hangs")
      .map((answer): Command => ({ kind: "answers", answer })),
  },
  { weight: 3, arbitrary: final.map((answer): Command => ({ kind: "release", answer })) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(1, 999, 1_000, 4_000, 60_000, 300_000, 600_000, 4_000_000, 40_000_000, 86_400_000)
      .map((milliseconds): Command => ({ kind: "advance", milliseconds })),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({
        principal: mostlyFirst,
        url: mostlyFirst,
        secret: mostlyFirst,
        ttlMs: fc.constantFrom(null, null, 0, 60_000, 3_600_000, 1e12),
        echoes: fc.constantFrom(true, true, true, true, false),
      })
      .map((input): Command => ({ kind: "subscribe", ...input })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ principal: mostlyFirst, url: mostlyFirst })
      .map((input): Command => ({ kind: "unsubscribe", ...input })),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ kind: "revoke" }) },
  { weight: 2, arbitrary: fc.constant<Command>({ kind: "resume" }) },
  { weight: 2, arbitrary: fc.constant<Command>({ kind: "restart" }) },
  {
    weight: 2,
    arbitrary: fc
      .record({ kind: fc.constantFrom("acknowledge" as const, "recover" as const), choice: fc.nat(9) })
      .map((input): Command => input),
  },
);

/** That the sequences go everywhere is part of what they prove. */
const statesSeen = new Set<string>();

/** The bench, its receiver and the model, told the same things. */
class Pair {
  readonly bench: WebhookBench;
  readonly model: WebhookModel;
  readonly #db: Database.Database;
  /** Event ids in the order of their attempts, and the one body of each. */
  readonly #attempts: Array<string> = [];
  readonly #bodies = new Map<string, string>();
  readonly #taken = new Set<string>();
  #open: PromiseWithResolvers<CallbackAnswer> | null = null;
  #echoes = true;
  #admitted = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    const deliver = receiver(({ headers, body }) => {
      const id = headers["webhook-id"] as string;
      expect(this.#taken.has(id)).toBe(false);
      this.#attempts.push(id);
      const text = Buffer.from(body).toString("utf8");
      expect(this.#bodies.get(id) ?? text).toBe(text);
      this.#bodies.set(id, text);
      if (this.model.answer === "hangs") {
        this.#open = Promise.withResolvers();
        return this.#open.promise;
      }
      if (this.model.answer === 200) this.#taken.add(id);
      return answerOf(this.model.answer);
    });
    this.bench = createBench(() => db, {
      post: (request, signal) => {
        const isChallenge = request.headers["webhook-id"]?.startsWith("msg_") === true;
        return isChallenge && !this.#echoes ? Promise.resolve(answered(200)) : deliver(request, signal);
      },
    });
    this.model = new WebhookModel(this.bench.now);
  }

  async #drain(): Promise<void> {
    // Each round of the loop takes a turn; it is over when one brings no attempt.
    for (let before = -1; before !== this.#attempts.length;) {
      before = this.#attempts.length;
      await this.bench.settle();
    }
  }

  #retired(choice: number, retire: (token: DeliveryToken) => void): void {
    const token = this.model.unread[choice % Math.max(1, this.model.unread.length)];
    if (token === undefined) return;
    this.model.retire(token);
    retire(token as DeliveryToken);
  }

  async perform(command: Command): Promise<void> {
    const { bench, model } = this;
    switch (command.kind) {
      case "admit":
        model.admit(bench.admit(`item ${this.#admitted++}`));
        break;
      case "answers":
        model.answer = command.answer;
        break;
      case "release": {
        const isOpen = model.flight !== null;
        if (isOpen && command.answer === 200) this.#taken.add(eventIdOf(model.flight?.item as DeliveryToken));
        const open = this.#open;
        this.#open = null;
        open?.resolve(answerOf(command.answer));
        await this.#drain();
        model.release(command.answer);
        break;
      }
      case "advance":
        await bench.advance(command.milliseconds);
        model.advance(command.milliseconds);
        break;
      case "subscribe": {
        this.#echoes = command.echoes;
        const principal = principals[command.principal] as string;
        const input = {
          url: urls[command.url] as (typeof urls)[number],
          secret: secrets[command.secret] as string,
          ttlMs: command.ttlMs,
        };
        const { kind } = await bench.webhooks.subscribe(principal, input);
        expect(kind).toBe(model.subscribe(principal, input, command.echoes));
        break;
      }
      case "unsubscribe": {
        const [principal, url] = [principals[command.principal], urls[command.url]] as [string, never];
        bench.webhooks.unsubscribe(principal, url);
        model.unsubscribe(principal, url);
        break;
      }
      case "revoke":
        expect((await bench.webhooks.revokeEventSubscription()).kind).toBe(model.revoke());
        break;
      case "resume":
        expect((await bench.webhooks.resumeEventSubscription()).kind).toBe(model.resume());
        break;
      case "restart":
        model.restart();
        bench.restart();
        break;
      case "acknowledge":
        this.#retired(command.choice, bench.acknowledge);
        model.run();
        break;
      case "recover":
        if (model.unread.length === 0) break;
        this.#retired(command.choice, (token) =>
          bench.restart((db) => {
            Inbox.acknowledge(db, token, bench.now);
            Occurrence.drop(db, [token], bench.now);
          }),
        );
        model.restart();
        break;
    }
    await this.#drain();
    this.#agree();
  }

  #agree(): void {
    const { bench, model } = this;
    const status = bench.webhooks.eventSubscriptionStatus();
    statesSeen.add(model.registered?.state ?? "none");
    const { subscriptionId: _, event: __, ...shown } = { subscriptionId: "", event: "", ...status };
    expect(shown).toEqual(model.status());
    expect(bench.webhooks.isConsumedByWebhook()).toBe(model.ownsConsumer());
    const unread = this.#db
      .all("SELECT delivery_token FROM inbox WHERE acknowledged_at IS NULL ORDER BY sequence")
      .map((row) => row["delivery_token"]);
    expect(unread).toEqual(model.unread);
    expect(this.#attempts).toEqual(model.attempts.map((token) => eventIdOf(token as DeliveryToken)));
    expect(bench.log.filter((event) => event.includes("tried again"))).toEqual([]);
  }
}

verifies(
  ["ING-107", "ING-80", "ING-84", "ING-91", "ING-92", "ING-93", "ING-103"],
  "webhooks do what their one-page model does, in any order of events and restarts",
  async () => {
    const db = Database.open(":memory:");
    db.transaction(() => Inbox.prepare(db, seededRandom("cursor key")));
    const clear = (): void => {
      for (const table of ["webhook_occurrence", "webhook_registration", "webhook_attempt", "inbox"])
        db.run(`DELETE FROM ${table}`);
    };
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(commandOf, { minLength: 5, maxLength: 30 }), async (commands) => {
          clear();
          const pair = new Pair(db);
          // Most of what can happen happens to a registration.
          await pair.perform({
            kind: "subscribe",
            principal: 0,
            url: 0,
            secret: 0,
            ttlMs: null,
            echoes: true,
          });
          for (const next of commands) await pair.perform(next);
        }),
        { numRuns: 5_000 },
      );
      expect([...statesSeen].toSorted()).toEqual([...LifeCycle.states].toSorted());
    } finally {
      db.close();
    }
  },
  120_000,
);
