// What webhooks do, said a second time in one page and without rows, promises or timers: a list of unread items, at most one
// registration, at most one attempt under way, and time that goes on from one thing that is due to the next.

import type { SubscribeInput } from "../../src/operations/EventSubscription.ts";

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000];
const [cacheMs, longestWaitMs, dayMs] = [10 * minuteMs, 5 * minuteMs, 24 * hourMs];
/** Nothing is begun this near to the end of a lease. */
const restMs = 10 * secondMs;

export type Answer = 200 | 404 | 410 | 413 | 500 | 503 | "lost" | "hangs";

interface Registered {
  readonly key: string;
  state: "active" | "retrying" | "suspended" | "rejected" | "expired";
  lease: number;
  due: number;
  attempts: number;
  since: number | null;
  last: number;
  error: string | null;
  status: number | null;
  received: number | null;
}

export class WebhookModel {
  now: number;
  unread: ReadonlyArray<string> = [];
  registered: Registered | null = null;
  /** The item that is due. */
  offered: string | null = null;
  flight: { readonly item: string } | null = null;
  answer: Answer = 200;
  /** Items in the order of their attempts. */
  readonly attempts: Array<string> = [];
  /** The secret that passed last, by principal and URL. */
  #verified = new Map<string, { readonly secret: string; readonly at: number }>();
  #challenges: ReadonlyArray<number> = [];

  constructor(now: number) {
    this.now = now;
  }

  #noteLease(): void {
    const it = this.registered;
    if (it !== null && this.now >= it.lease && it.state !== "rejected") it.state = "expired";
  }

  #forget(it: Registered): void {
    it.attempts = 0;
    it.since = null;
    it.error = null;
    it.status = null;
    it.due = this.now;
  }

  #isGivenUp({ attempts, since, last }: Registered): boolean {
    return attempts >= 100 && since !== null && last - since >= hourMs;
  }

  #settle(item: string, answer: Exclude<Answer, "hangs">): void {
    const it = this.registered;
    if (it === null || this.offered !== item) return;
    if (answer === 200) {
      this.unread = this.unread.filter((other) => other !== item);
      this.offered = null;
      this.#forget(it);
      it.received = this.now;
      if (it.state === "retrying") it.state = "active";
      if (it.state === "active") this.offered = this.unread[0] ?? null;
      return;
    }
    it.attempts += 1;
    it.since ??= this.now;
    it.last = this.now;
    it.error = answer === "lost" ? "connection_refused" : answer < 500 ? "http_4xx" : "http_5xx";
    it.status = answer === "lost" ? null : answer;
    if (answer === 410 || answer === 413) {
      it.state = "rejected";
      return;
    }
    const doubled = Math.min(secondMs * 2 ** Math.min(it.attempts - 1, 16), longestWaitMs);
    // A 503 of this model's receiver asks for a minute.
    it.due = this.now + Math.max(doubled, answer === 503 ? minuteMs : 0);
    if (it.state !== "expired") it.state = this.#isGivenUp(it) ? "suspended" : "retrying";
  }

  /** Does what is due now. */
  run(): void {
    for (;;) {
      if (this.flight !== null) return;
      this.#noteLease();
      const it = this.registered;
      if (it === null || (it.state !== "active" && it.state !== "retrying") || it.due > this.now) return;
      if (it.lease - this.now < restMs) return;
      this.offered ??= this.unread[0] ?? null;
      if (this.offered === null) return;
      const item = this.offered;
      this.attempts.push(item);
      if (this.answer === "hangs") {
        this.flight = { item };
        return;
      }
      this.#settle(item, this.answer);
    }
  }

  advance(milliseconds: number): void {
    const until = this.now + milliseconds;
    this.run();
    for (;;) {
      const it = this.registered;
      if (it === null || this.flight !== null || it.state === "rejected" || it.state === "expired") break;
      const next = it.due > this.now && it.state === "retrying" ? Math.min(it.due, it.lease) : it.lease;
      if (next > until) break;
      this.now = next;
      this.run();
    }
    this.now = until;
    this.#noteLease();
  }

  /** What hung is answered at last. */
  release(answer: Exclude<Answer, "hangs">): void {
    const flight = this.flight;
    this.flight = null;
    if (flight !== null) this.#settle(flight.item, answer);
    this.run();
  }

  admit(item: string): void {
    this.unread = [...this.unread, item];
    this.run();
  }

  /** By the owner, or by recovery before a start. */
  retire(item: string): void {
    this.unread = this.unread.filter((other) => other !== item);
    if (this.offered === item) {
      this.offered = null;
      const it = this.registered;
      if (it?.state === "retrying" || it?.state === "expired") this.#forget(it);
      if (it?.state === "retrying") it.state = "active";
    }
  }

  subscribe(principal: string, { url, secret, ttlMs }: SubscribeInput, echoes: boolean): string {
    this.#noteLease();
    const key = `${principal} ${url}`;
    const before = this.registered;
    if (before !== null && before.key !== key) return "occupied";
    if (before?.state === "rejected") return "rejected";
    const passed = this.#verified.get(key);
    if (passed?.secret !== secret || this.now - passed.at >= cacheMs) {
      this.#challenges = this.#challenges.filter((at) => this.now - at < minuteMs);
      if (this.#challenges.length >= 10) return "too-many-challenges";
      this.#challenges = [...this.#challenges, this.now];
      if (!echoes) return "unverified";
      this.#verified.set(key, { secret, at: this.now });
    }
    const it: Registered = before ?? {
      key,
      state: "active",
      lease: 0,
      due: this.now,
      attempts: 0,
      since: null,
      last: 0,
      error: null,
      status: null,
      received: null,
    };
    this.registered = it;
    it.lease = this.now + Math.min(Math.max(ttlMs ?? dayMs, minuteMs), dayMs);
    if (it.state === "suspended" || (it.state === "expired" && this.#isGivenUp(it))) {
      this.#forget(it);
      it.state = "active";
    } else if (it.state === "expired") {
      it.state = it.attempts === 0 ? "active" : "retrying";
      it.due = this.now;
    }
    this.run();
    return "subscribed";
  }

  #end(): void {
    this.registered = null;
    this.offered = null;
    this.flight = null;
  }

  unsubscribe(principal: string, url: string): void {
    if (this.registered?.key === `${principal} ${url}`) this.#end();
  }

  revoke(): string {
    if (this.registered === null) return "none";
    this.#end();
    return "revoked";
  }

  resume(): string {
    this.#noteLease();
    const it = this.registered;
    if (it === null) return "none";
    if (it.state === "rejected" || it.state === "expired") return it.state;
    this.#forget(it);
    it.state = "active";
    this.run();
    return "resumed";
  }

  /** What a new process knows is what is stored. */
  restart(): void {
    this.flight = null;
    this.#verified.clear();
    this.#challenges = [];
    this.run();
  }

  ownsConsumer(): boolean {
    this.#noteLease();
    const it = this.registered;
    if (it === null || it.state === "expired") return false;
    return it.state !== "rejected" || this.now < it.lease;
  }

  status(): object {
    this.#noteLease();
    const it = this.registered;
    const utc = (at: number | null) => (at === null ? null : new Date(at).toISOString());
    if (it === null) return { kind: "none" };
    const waits = it.state === "retrying" && it.due > this.now && it.lease - it.due >= restMs;
    return {
      kind: "subscription",
      state: it.state,
      resting: null,
      refreshBefore: utc(it.lease),
      lastDeliveryAt: utc(it.received),
      lastError: it.error,
      lastStatus: it.status,
      failedSince: utc(it.since),
      failedAttempts: it.attempts,
      nextAttemptAt: waits ? utc(it.due) : null,
      waitingItems: this.unread.length,
    };
  }
}
