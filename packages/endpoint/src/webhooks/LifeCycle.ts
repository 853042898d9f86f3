// The life of the one webhook registration, as a table of states and events: pure, total, no clock and no randomness. A new
// state or event does not compile until every cell is decided. Knows nothing of rows, requests and sockets; the table for
// people is in docs/spec/ingress.md. Implements ING-80 to ING-84.

import type { DeliveryError } from "../operations/EventSubscription.ts";
import * as Backoff from "./Backoff.ts";
import * as Limits from "./Limits.ts";

export const states = ["none", "active", "retrying", "suspended", "rejected", "expired"] as const;
export type State = (typeof states)[number];

/** The failed attempts of the delivery that is due. Times are epoch milliseconds. */
export interface Failing {
  readonly attempts: number;
  readonly since: number;
  readonly lastAt: number;
  readonly error: DeliveryError;
  /** The HTTP status that the last one was answered with; null when it was not. */
  readonly status: number | null;
}

export interface Standing {
  readonly state: State;
  readonly failing: Failing | null;
  /** The earliest time of the next attempt; of meaning only while the state delivers. */
  readonly dueAt: number;
}

export const none: Standing = { state: "none", failing: null, dueAt: 0 };

export type Event =
  /** A subscription or its refresh, its callback verified. */
  | { readonly kind: "granted"; readonly now: number }
  /** The callback did not pass its challenge. */
  | { readonly kind: "unverified" }
  | { readonly kind: "leaseEnded" }
  /** 2xx. */
  | { readonly kind: "received"; readonly now: number }
  | {
      readonly kind: "failed";
      readonly now: number;
      readonly error: DeliveryError;
      readonly status: number | null;
      /** 0 to 1. */
      readonly jitter: number;
      readonly retryAfterMs: number | null;
    }
  /** 410 and 413. */
  | {
      readonly kind: "refused";
      readonly now: number;
      readonly error: DeliveryError;
      readonly status: number | null;
    }
  /** The offered item left the inbox by another way. */
  | { readonly kind: "acknowledged"; readonly now: number }
  | { readonly kind: "resumed"; readonly now: number }
  | { readonly kind: "revoked" }
  | { readonly kind: "unsubscribed" }
  | { readonly kind: "restarted" };

export type EventKind = Event["kind"];
type EventOf<Kind extends EventKind> = Extract<Event, { readonly kind: Kind }>;
type Rule<Kind extends EventKind> = (standing: Standing, event: EventOf<Kind>) => Standing;

/** Whether failing has gone on long enough to be given up. */
const isExhausted = ({ attempts, since, lastAt }: Failing): boolean =>
  attempts >= Limits.suspendAttemptsMin && lastAt - since >= Limits.suspendSpanMsMin;

const stays = (standing: Standing): Standing => standing;
const ends = (): Standing => none;
/** With no failure to its name, and due at once. */
const begins = (_: Standing, { now }: { readonly now: number }): Standing => ({
  state: "active",
  failing: null,
  dueAt: now,
});
const expires = ({ failing, dueAt }: Standing): Standing => ({ state: "expired", failing, dueAt });

const counted = ({ failing }: Standing, { now, error, status }: EventOf<"failed" | "refused">): Failing => ({
  attempts: (failing?.attempts ?? 0) + 1,
  since: failing?.since ?? now,
  lastAt: now,
  error,
  status,
});

const dueAfter = ({ attempts }: Failing, { now, jitter, retryAfterMs }: EventOf<"failed">): number =>
  now + Backoff.delayMs(attempts, jitter, retryAfterMs);

const retries: Rule<"failed"> = (standing, event) => {
  const failing = counted(standing, event);
  const state = isExhausted(failing) ? "suspended" : "retrying";
  return { state, failing, dueAt: dueAfter(failing, event) };
};

/** An attempt that began before the lease ended: it is remembered, and nothing follows from it. */
const failsLate: Rule<"failed"> = (standing, event) => {
  const failing = counted(standing, event);
  return { state: "expired", failing, dueAt: dueAfter(failing, event) };
};

const isRejected: Rule<"refused"> = (standing, event) => ({
  state: "rejected",
  failing: counted(standing, event),
  dueAt: event.now,
});

/** As it was when its lease ended, at once; what had been given up begins anew, as it does on a refresh in time. */
const returns: Rule<"granted"> = ({ failing }, { now }) =>
  failing === null || isExhausted(failing)
    ? { state: "active", failing: null, dueAt: now }
    : { state: "retrying", failing, dueAt: now };

/** Another delivery is due than the one that failed. */
const forgetsFailing = (standing: Standing, { now }: { readonly now: number }): Standing => ({
  ...standing,
  failing: null,
  dueAt: now,
});

const hastens: Rule<"resumed"> = (standing, { now }) => ({ ...standing, dueAt: now });

type Table = {
  readonly [S in State]: { readonly [Kind in EventKind]: Rule<Kind> };
};

const table: Table = {
  none: {
    granted: begins,
    unverified: stays,
    leaseEnded: stays,
    received: stays,
    failed: stays,
    refused: stays,
    acknowledged: stays,
    resumed: stays,
    revoked: stays,
    unsubscribed: stays,
    restarted: stays,
  },
  active: {
    granted: stays,
    unverified: stays,
    leaseEnded: expires,
    received: begins,
    failed: retries,
    refused: isRejected,
    acknowledged: stays,
    resumed: hastens,
    revoked: ends,
    unsubscribed: ends,
    restarted: stays,
  },
  retrying: {
    // A refresh changes neither the count nor the wait: refreshing often must not be a way around either.
    granted: stays,
    unverified: stays,
    leaseEnded: expires,
    received: begins,
    failed: retries,
    refused: isRejected,
    acknowledged: begins,
    resumed: begins,
    revoked: ends,
    unsubscribed: ends,
    restarted: stays,
  },
  suspended: {
    granted: begins,
    unverified: stays,
    leaseEnded: expires,
    // No attempt is under way: it was the last one's outcome that suspended.
    received: stays,
    failed: stays,
    refused: stays,
    acknowledged: stays,
    resumed: begins,
    revoked: ends,
    unsubscribed: ends,
    restarted: stays,
  },
  rejected: {
    granted: stays,
    unverified: stays,
    leaseEnded: stays,
    received: stays,
    failed: stays,
    refused: stays,
    acknowledged: stays,
    resumed: stays,
    revoked: ends,
    unsubscribed: ends,
    restarted: stays,
  },
  expired: {
    granted: returns,
    unverified: stays,
    leaseEnded: stays,
    received: forgetsFailing,
    failed: failsLate,
    refused: isRejected,
    acknowledged: forgetsFailing,
    resumed: stays,
    revoked: ends,
    unsubscribed: ends,
    restarted: stays,
  },
};

export const transition = (standing: Standing, event: Event): Standing =>
  // The row's type ties each rule to its event's kind, which an index by a union cannot say.
  (table[standing.state][event.kind] as Rule<EventKind>)(standing, event as never);

/** Whether the state makes attempts. */
export const delivers = (state: State): boolean => state === "active" || state === "retrying";

/** Whether the registration is the endpoint's consumer. A rejected one is a suspended one: it is until its lease ends. */
export const ownsConsumer = (state: State, isLeaseOver: boolean): boolean =>
  state === "rejected" ? !isLeaseOver : delivers(state) || state === "suspended";
