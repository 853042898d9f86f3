// Webhooks on a real store with everything else in the test's hand: time, timers, the receiver, and the end of the process. An
// incarnation that was killed reaches neither the store nor the receiver any more, whatever it still tries.

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Item } from "@social-harness/protocol/delivery/Item";
import { type DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";
import type { CallbackAnswer, CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import type { CallbackUrl } from "../../src/callbacks/CallbackUrl.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import * as Webhooks from "../../src/webhooks/Webhooks.ts";
import { seededRandom } from "../ingress/CertifiedPosts.ts";

export const urlOf = (text: string): CallbackUrl => text as CallbackUrl;
export const secretOf = (seed: string): string =>
  `whsec_${createHash("sha256").update(seed).digest("base64")}`;

export const itemOf = (text: string): Item => ({
  kind: "multicast",
  message: {
    kind: "direct",
    postId: PostId.fromBytes(createHash("sha256").update(text).digest()),
    address: "agent:bob" as never,
    sender: "agent:bob" as never,
    content: [{ type: "text", text }],
  },
});

export const answered = (status: number, retryAfterMs: number | null = null): CallbackAnswer => ({
  kind: "answered",
  status,
  retryAfterMs,
  body: new Uint8Array(),
});

export type Request = Parameters<CallbackClient["post"]>[0];

/** A receiver that passes every challenge. `deliver` decides about the rest. */
export const receiver =
  (deliver: (request: Request, signal: AbortSignal) => CallbackAnswer | Promise<CallbackAnswer>) =>
  async (request: Request, signal: AbortSignal): Promise<CallbackAnswer> => {
    const body = JSON.parse(Buffer.from(request.body).toString("utf8")) as Record<string, unknown>;
    if (body["type"] !== "verification") return deliver(request, signal);
    const echo = Buffer.from(JSON.stringify({ challenge: body["challenge"] }), "utf8");
    return { kind: "answered", status: 200, retryAfterMs: null, body: echo };
  };

export class Killed extends Error {}

/** Where the process dies: before or after its n-th commit or request, counted from its start. */
export interface Death {
  readonly step: number;
  readonly when: "before" | "after";
}

export interface WebhookBench {
  now: number;
  post: CallbackClient["post"];
  readonly db: Database;
  readonly webhooks: Webhooks.Webhooks;
  readonly isDead: () => boolean;
  /** Steps that the incarnation has begun. */
  readonly steps: () => number;
  readonly log: Array<string>;
  /** Ends the process and starts another, after `recover` has run in a transaction of its own. */
  readonly restart: (recover?: (db: Database) => void, death?: Death) => void;
  readonly admit: (text: string) => DeliveryToken;
  readonly acknowledge: (token: DeliveryToken) => void;
  /** Lets everything happen that needs no time. */
  readonly settle: () => Promise<void>;
  /** How long from now on each timer waits that was not stopped. */
  readonly waits: () => ReadonlyArray<number>;
  /** Lets time pass, one timer after another. */
  readonly advance: (milliseconds: number) => Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

export interface BenchOptions {
  readonly post?: CallbackClient["post"];
  readonly death?: Death;
  readonly enabled?: boolean;
  /** 0 is no jitter. */
  readonly jitterByte?: number;
}

export const createBench = (store: () => Database, options: BenchOptions = {}): WebhookBench => {
  const tokens = seededRandom("tokens");
  const log: Array<string> = [];
  let timers: ReadonlyArray<Timer> = [];
  let incarnation = 0;

  const incarnate = (death: Death | undefined) => {
    const mine = ++incarnation;
    let dead = false;
    let steps = 0;
    const alive = (): boolean => !dead && mine === incarnation;
    const check = (): void => {
      if (!alive()) throw new Killed("this process is no more");
    };
    const dies = (step: number, when: Death["when"]): void => {
      if (death === undefined || death.step !== step || death.when !== when) return;
      dead = true;
      throw new Killed("killed");
    };
    const read =
      <Args extends ReadonlyArray<unknown>, A>(name: "get" | "all" | "run") =>
      (...args: Args): A => {
        check();
        return (store()[name] as unknown as (...args: Args) => A)(...args);
      };
    let depth = 0;
    const db: Database = {
      get: read("get"),
      all: read("all"),
      run: read("run"),
      iterate: (sql, ...values) => store().iterate(sql, ...values),
      inTransaction: () => store().inTransaction(),
      close: () => {},
      transaction: (body) => {
        check();
        if (depth > 0) return store().transaction(body);
        const step = ++steps;
        dies(step, "before");
        depth += 1;
        try {
          return store().transaction(body);
        } finally {
          depth -= 1;
          dies(step, "after");
        }
      },
    };
    const client: CallbackClient = {
      post: async (request, signal) => {
        check();
        const step = ++steps;
        dies(step, "before");
        const answer = await bench.post(request, signal);
        if (alive()) dies(step, "after");
        return answer;
      },
      close: async () => {},
    };
    const webhooks = Webhooks.create({
      db,
      client,
      scope: "agt_test",
      enabled: options.enabled ?? true,
      clock: () => bench.now,
      random: (byteCount) => (byteCount === 1 ? Uint8Array.of(options.jitterByte ?? 0) : tokens(byteCount)),
      schedule: (delayMs, fire) => {
        const timer: Timer = { at: bench.now + delayMs, fire: () => (alive() ? fire() : undefined) };
        timers = [...timers, timer];
        return () => {
          timers = timers.filter((other) => other !== timer);
        };
      },
      logger: (_level, event) => (alive() ? void log.push(event) : undefined),
    });
    return { webhooks, isDead: () => !alive(), steps: () => steps };
  };

  const settle = async (): Promise<void> => {
    await setImmediate();
  };

  const bench: WebhookBench = {
    now: Date.UTC(2026, 10, 30, 12),
    post: options.post ?? receiver(() => answered(200)),
    get db() {
      return store();
    },
    get webhooks() {
      return life.webhooks;
    },
    isDead: () => life.isDead(),
    steps: () => life.steps(),
    log,
    restart: (recover, death) => {
      incarnation += 1;
      timers = [];
      if (recover !== undefined) store().transaction(() => recover(store()));
      life = incarnate(death);
      life.webhooks.start();
    },
    admit: (text) => {
      const db = store();
      const token = db.transaction(() =>
        Inbox.admit(db, { item: itemOf(text), now: bench.now, random: tokens }),
      );
      if (!life.isDead()) life.webhooks.wake();
      return token;
    },
    acknowledge: (token) => {
      const db = store();
      db.transaction(() => {
        Inbox.acknowledge(db, token, bench.now);
        Occurrence.drop(db, [token], bench.now);
      });
      if (!life.isDead()) life.webhooks.wake();
    },
    settle,
    waits: () => timers.map(({ at }) => at - bench.now),
    advance: async (milliseconds) => {
      const until = bench.now + milliseconds;
      await settle();
      for (;;) {
        const next = timers.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined || next.at > until) break;
        timers = timers.filter((timer) => timer !== next);
        bench.now = Math.max(bench.now, next.at);
        next.fire();
        await settle();
      }
      bench.now = until;
    },
  };
  let life = incarnate(options.death);
  life.webhooks.start();
  return bench;
};
