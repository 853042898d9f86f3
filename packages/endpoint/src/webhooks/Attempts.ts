// The last attempts at the callback, for the owner: when, what for, of which event, what came of it and how long it took.
// Bounded; holds no URL, no secret and no body. Writes join the caller's transaction. Implements ING-105.

import type { Attempt } from "../operations/EventSubscription.ts";
import type { Database } from "../store/Database.ts";
import * as Limits from "./Limits.ts";

/** With `at` in epoch milliseconds. */
export type AttemptRow = Omit<Attempt, "at"> & { readonly at: number };

export const add = (
  db: Database,
  { at, purpose, category, status, eventId, durationMs }: AttemptRow,
): void => {
  db.run(
    "INSERT INTO webhook_attempt (at, purpose, category, status, event_id, duration_ms) VALUES (?, ?, ?, ?, ?, ?)",
    at,
    purpose,
    category,
    status,
    eventId,
    durationMs,
  );
  db.run(
    "DELETE FROM webhook_attempt WHERE sequence <= (SELECT max(sequence) FROM webhook_attempt) - ?",
    Limits.attemptsKept,
  );
};

/** The newest first. */
export const list = (db: Database): ReadonlyArray<Attempt> =>
  db
    .all(
      "SELECT at, purpose, category, status, event_id, duration_ms FROM webhook_attempt ORDER BY sequence DESC",
    )
    .map((row) => ({
      at: new Date(Number(row["at"])).toISOString(),
      purpose: row["purpose"] as Attempt["purpose"],
      category: row["category"] as Attempt["category"],
      status: row["status"] === null ? null : Number(row["status"]),
      eventId: row["event_id"] as Attempt["eventId"],
      durationMs: Number(row["duration_ms"]),
    }));
