// The one registration as a durable row: whom to call, under which secret and lease, and how that stands. Its URL and secret
// leave this endpoint's private store only towards the callback itself. Writes join the caller's transaction.

import type { CallbackUrl } from "../callbacks/CallbackUrl.ts";
import type { DeliveryError } from "../operations/EventSubscription.ts";
import type { Database, Row } from "../store/Database.ts";
import * as LifeCycle from "./LifeCycle.ts";

/** Whom to call. */
export interface Target {
  readonly subscriptionId: string;
  readonly url: CallbackUrl;
  /** As its subscriber wrote it. */
  readonly secret: string;
}

/** Times are epoch milliseconds. */
export interface Registration extends Target {
  readonly leaseEndsAt: number;
  readonly standing: LifeCycle.Standing;
  /** Of the last receipt. */
  readonly lastDeliveryAt: number | null;
}

const numberOrNull = (value: Row[string] | undefined): number | null =>
  value === null ? null : Number(value);

const failingOf = (row: Row): LifeCycle.Failing | null =>
  row["last_error"] === null
    ? null
    : {
        attempts: Number(row["failed_attempts"]),
        since: Number(row["failed_since"]),
        lastAt: Number(row["failed_last_at"]),
        error: row["last_error"] as DeliveryError,
        status: numberOrNull(row["last_status"]),
      };

export const load = (db: Database): Registration | null => {
  const row = db.get("SELECT * FROM webhook_registration");
  if (row === undefined) return null;
  return {
    subscriptionId: row["subscription_id"] as string,
    url: row["url"] as CallbackUrl,
    secret: row["secret"] as string,
    leaseEndsAt: Number(row["lease_ends_at"]),
    standing: {
      state: row["state"] as LifeCycle.State,
      failing: failingOf(row),
      dueAt: Number(row["due_at"]),
    },
    lastDeliveryAt: numberOrNull(row["last_delivery_at"]),
  };
};

export const save = (db: Database, registration: Registration): void => {
  const { state, failing, dueAt } = registration.standing;
  db.run(
    `INSERT OR REPLACE INTO webhook_registration
       (one, subscription_id, url, secret, lease_ends_at, state, due_at,
        failed_attempts, failed_since, failed_last_at, last_error, last_status, last_delivery_at)
     VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    registration.subscriptionId,
    registration.url,
    registration.secret,
    registration.leaseEndsAt,
    state,
    dueAt,
    failing?.attempts ?? 0,
    failing?.since ?? null,
    failing?.lastAt ?? null,
    failing?.error ?? null,
    failing?.status ?? null,
    registration.lastDeliveryAt,
  );
};

/** Applies an event; a standing of `none` is the absence of the row. Returns what is stored then. */
export const apply = (
  db: Database,
  registration: Registration,
  event: LifeCycle.Event,
): Registration | null => {
  const standing = LifeCycle.transition(registration.standing, event);
  if (standing === registration.standing) return registration;
  if (standing.state === "none") {
    db.run("DELETE FROM webhook_registration");
    return null;
  }
  const changed = { ...registration, standing };
  save(db, changed);
  return changed;
};
