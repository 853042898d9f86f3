// The webhook side of an endpoint as its callers see it: the subscriber's two methods, the owner's tools, and who the consumer
// is. Every change is decided, committed and told in one step without waiting; only callbacks are waited for, and what they
// return is judged anew. Implements ING-84, ING-87 to ING-91, ING-98 to ING-102, ING-106, ING-200, ING-207, ING-260, ING-261, and
// MGT-76 to MGT-78.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as Hash from "@social-harness/protocol/encoding/Hash";
import type { CallbackUrl } from "../callbacks/CallbackUrl.ts";
import {
  type DeliveryStatus,
  draftErrorOf,
  type EventConsumers,
  type EventDiagnostics,
  type EventSubscriptions,
  type EventSubscriptionStatus,
  type SubscribeInput,
  type SubscribeResult,
} from "../operations/EventSubscription.ts";
import { withReasons, withReasonsSync } from "../operations/Failing.ts";
import * as Inbox from "../ingress/Inbox.ts";
import * as Attempts from "./Attempts.ts";
import * as Delivery from "./Delivery.ts";
import * as LifeCycle from "./LifeCycle.ts";
import * as Limits from "./Limits.ts";
import * as Notices from "./Notices.ts";
import * as Occurrence from "./Occurrence.ts";
import * as Registration from "./Registration.ts";
import * as Verification from "./Verification.ts";

export interface WebhooksOptions extends Omit<Delivery.DeliveryOptions, "notices"> {
  /** What tells this endpoint's subscriptions from another's with the same callback: its public key, say. */
  readonly scope: string;
  /** False where no credential tells principals apart: a registration of an earlier time rests then, and owns nothing. */
  readonly enabled: boolean;
}

export interface Webhooks extends EventSubscriptions, EventDiagnostics, EventConsumers {
  /** Deliveries begin. What recovery retires must have been dropped before: see Occurrence.ts. */
  readonly start: () => void;
  /** The inbox has changed. Nothing happens before the start. */
  readonly wake: () => void;
  /** Ends what is under way. The client is the caller's to close. */
  readonly close: () => Promise<void>;
}

const utc = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Over the whole key of a subscription; its arguments are always the empty ones. */
const subscriptionIdOf = (scope: string, principal: string, url: CallbackUrl): string =>
  `sub_${Base64Url.encode(Hash.hash("event-subscription", [scope, principal, url, Occurrence.eventName, {}]))}`;

const leaseMsOf = (ttlMs: number | null): number =>
  Math.min(Math.max(ttlMs ?? Limits.leaseMsMax, Limits.leaseMsMin), Limits.leaseMsMax);

const deliveryStatusOf = ({ standing, lastDeliveryAt }: Registration.Registration): DeliveryStatus => ({
  active: LifeCycle.delivers(standing.state),
  lastDeliveryAt: lastDeliveryAt === null ? null : utc(lastDeliveryAt),
  lastError: standing.failing === null ? null : draftErrorOf(standing.failing.error),
  ...(standing.failing === null ? {} : { failedSince: utc(standing.failing.since) }),
});

/** Whether the lease ends before the next attempt may begin. */
const outlivesLease = ({ standing, leaseEndsAt }: Registration.Registration): boolean =>
  standing.dueAt > leaseEndsAt - Limits.leaseRestMsMin;

/** A challenge under way, and why its answer means nothing any more; null while it does. */
interface Challenge {
  readonly subscriptionId: string;
  over: "ended" | "superseded" | null;
}

export const create = (options: WebhooksOptions): Webhooks => {
  const { db, clock, scope, enabled } = options;
  const notices = Notices.create(options.logger);
  const delivery = Delivery.create({ ...options, notices });
  const verifications = Verification.createVerifications(clock);
  /** In the order of their calls. */
  const challenges = new Set<Challenge>();
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  const underway = new Set<Promise<unknown>>();

  /** What waits for a callback ends before the store is closed. */
  const counted = <A>(body: () => Promise<A>): Promise<A> => {
    const result = withReasons(body);
    underway.add(result);
    void result.catch(() => {}).finally(() => underway.delete(result));
    return result;
  };

  let started = false;
  const wake = (): void => {
    if (enabled && started) delivery.wake();
  };

  const isLeaseOver = ({ leaseEndsAt }: Registration.Registration): boolean => clock() >= leaseEndsAt;

  /** The stored registration, an ended lease noted: whoever looks sees it at once, and not when a timer fires. */
  const current = (): Registration.Registration | null => {
    const registration = Registration.load(db);
    if (registration === null || !isLeaseOver(registration)) return registration;
    const noted = db.transaction(() => Registration.apply(db, registration, { kind: "leaseEnded" }));
    if (noted !== null && started && enabled) notices.stands(noted.standing, "its lease ended");
    return noted;
  };

  /** The same for who only looks: nothing is written, so that it can be asked also where nothing can be. */
  const seen = (): Registration.Registration | null => {
    const registration = Registration.load(db);
    if (registration === null || !isLeaseOver(registration)) return registration;
    const standing = LifeCycle.transition(registration.standing, { kind: "leaseEnded" });
    return { ...registration, standing };
  };

  /** Has an event happen to whatever is registered. Returns what is registered then. */
  const tell = (event: LifeCycle.Event): Registration.Registration | null => {
    const registration = current();
    return registration === null ? null : db.transaction(() => Registration.apply(db, registration, event));
  };

  /** Whoever starts the endpoint hears of a webhook that does not deliver. */
  const noteFound = (registration: Registration.Registration | null): void => {
    if (registration === null) return;
    if (enabled) notices.stands(registration.standing, "the endpoint was started");
    else notices.rests();
  };

  /** Why a subscription cannot be granted now; null when it can. */
  const obstacleTo = (
    registration: Registration.Registration | null,
    subscriptionId: string,
  ): Extract<SubscribeResult, { readonly kind: "occupied" | "rejected" }> | null => {
    if (registration === null) return null;
    if (registration.subscriptionId !== subscriptionId) return { kind: "occupied" };
    const { state, failing } = registration.standing;
    return state === "rejected" ? { kind: "rejected", error: failing?.error ?? "http_4xx" } : null;
  };

  /** What was asked for first must not come last: its slow answer would bring back an older secret and lease. */
  const supersede = (subscriptionId: string, granted: Challenge | null): void => {
    for (const challenge of challenges) {
      if (challenge === granted) return;
      if (challenge.subscriptionId === subscriptionId) challenge.over ??= "superseded";
    }
  };

  /** `mine` is the challenge that was passed for it, null where an earlier one counts. */
  const grant = (
    target: Registration.Target,
    ttlMs: number | null,
    mine: Challenge | null,
  ): SubscribeResult => {
    const before = current();
    const obstacle = obstacleTo(before, target.subscriptionId);
    if (obstacle !== null) return obstacle;
    const now = clock();
    const registration: Registration.Registration = {
      ...target,
      leaseEndsAt: now + leaseMsOf(ttlMs),
      standing: LifeCycle.transition(before?.standing ?? LifeCycle.none, { kind: "granted", now }),
      lastDeliveryAt: before?.lastDeliveryAt ?? null,
    };
    db.transaction(() => Registration.save(db, registration));
    supersede(target.subscriptionId, mine);
    notices.granted(before, registration);
    for (const listener of listeners) listener();
    wake();
    return {
      kind: "subscribed",
      id: target.subscriptionId,
      refreshBefore: utc(registration.leaseEndsAt),
      ...(before === null ? {} : { deliveryStatus: deliveryStatusOf(registration) }),
    };
  };

  const verifyAndGrant = async (
    target: Registration.Target,
    ttlMs: number | null,
  ): Promise<SubscribeResult> => {
    if (!verifications.mayChallenge())
      return { kind: "too-many-challenges", max: Limits.challengesPerMinuteMax };
    const challenge: Challenge = { subscriptionId: target.subscriptionId, over: null };
    challenges.add(challenge);
    try {
      const { error, attempt } = await Verification.challenge(options, "challenge", target, closing.signal);
      // First, so that a store that fails has no receiver asked twice.
      if (error === null && challenge.over === null) verifications.remember(target);
      db.transaction(() => {
        Attempts.add(db, attempt);
        if (error !== null) tell({ kind: "unverified" });
      });
      options.onAttempt?.(attempt);
      if (error !== null) return { kind: "unverified", error };
      if (challenge.over !== null) return { kind: challenge.over };
      return grant(target, ttlMs, challenge);
    } finally {
      challenges.delete(challenge);
    }
  };

  /** It goes on to its end whoever still waits for it: what is granted is granted in the store and here at once. */
  const subscribe = (principal: string, { url, secret, ttlMs }: SubscribeInput): Promise<SubscribeResult> =>
    counted(async () => {
      const target = { subscriptionId: subscriptionIdOf(scope, principal, url), url, secret };
      const obstacle = obstacleTo(current(), target.subscriptionId);
      if (obstacle !== null) return obstacle;
      return verifications.has(target) ? grant(target, ttlMs, null) : verifyAndGrant(target, ttlMs);
    });

  /** The answers of these challenges bring nothing back. */
  const endChallenges = (isOf: (challenge: Challenge) => boolean): void => {
    for (const challenge of challenges) if (isOf(challenge)) challenge.over = "ended";
  };

  /** Ends the registration and its due delivery. The items stay in the inbox. */
  const end = (registration: Registration.Registration, kind: "revoked" | "unsubscribed"): void => {
    db.transaction(() => {
      Occurrence.clear(db);
      Registration.apply(db, registration, { kind });
    });
    delivery.abandon();
    notices.ended(registration, kind);
  };

  return {
    start: () => {
      noteFound(tell({ kind: "restarted" }));
      started = true;
      wake();
    },
    wake,
    subscribe,
    unsubscribe: (principal, url) =>
      withReasonsSync(() => {
        const subscriptionId = subscriptionIdOf(scope, principal, url);
        endChallenges((challenge) => challenge.subscriptionId === subscriptionId);
        const registration = current();
        if (registration?.subscriptionId === subscriptionId) end(registration, "unsubscribed");
      }),
    isConsumedByWebhook: () => {
      const registration = enabled ? current() : null;
      if (registration === null) return false;
      return LifeCycle.ownsConsumer(registration.standing.state, isLeaseOver(registration));
    },
    onConsumed: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    eventSubscriptionStatus: () =>
      withReasonsSync((): EventSubscriptionStatus => {
        const registration = seen();
        if (registration === null) return { kind: "none" };
        const { standing, subscriptionId, leaseEndsAt, lastDeliveryAt } = registration;
        const { state, failing, dueAt } = standing;
        const waits = enabled && state === "retrying" && dueAt > clock() && !outlivesLease(registration);
        return {
          kind: "subscription",
          subscriptionId,
          event: Occurrence.eventName,
          // A row of `none` is never stored: the schema refuses it.
          state: state as Exclude<LifeCycle.State, "none">,
          resting: enabled ? null : "trusted-local",
          refreshBefore: utc(leaseEndsAt),
          lastDeliveryAt: lastDeliveryAt === null ? null : utc(lastDeliveryAt),
          lastError: failing?.error ?? null,
          lastStatus: failing?.status ?? null,
          failedSince: failing === null ? null : utc(failing.since),
          failedAttempts: failing?.attempts ?? 0,
          nextAttemptAt: waits ? utc(dueAt) : null,
          waitingItems: Inbox.unreadCount(db),
        };
      }),
    revokeEventSubscription: () =>
      withReasons(async () => {
        endChallenges(() => true);
        const registration = current();
        if (registration === null) return { kind: "none" };
        end(registration, "revoked");
        return { kind: "revoked" };
      }),
    resumeEventSubscription: () =>
      withReasons(async () => {
        const registration = current();
        if (registration === null) return { kind: "none" };
        const { state } = registration.standing;
        if (state === "rejected") return { kind: "rejected" };
        if (!enabled) return { kind: "resting" };
        if (state === "expired") return { kind: "expired" };
        const resumed = tell({ kind: "resumed", now: clock() });
        if (resumed !== null) notices.stands(resumed.standing, "its owner has resumed it");
        wake();
        return { kind: "resumed" };
      }),
    webhookAttempts: () => Attempts.list(db),
    testWebhook: () =>
      counted(async () => {
        const registration = current();
        if (registration === null) return { kind: "none" };
        const { error, attempt } = await Verification.challenge(
          options,
          "test",
          registration,
          closing.signal,
        );
        db.transaction(() => Attempts.add(db, attempt));
        options.onAttempt?.(attempt);
        const { category, status, durationMs } = attempt;
        if (error === null) return { kind: "passed", durationMs };
        return { kind: "failed", error, category, status, durationMs };
      }),
    close: async () => {
      closing.abort();
      await Promise.all([delivery.stop(), Promise.allSettled(underway)]);
    },
  };
};
