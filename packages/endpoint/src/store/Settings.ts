// Named values of the store: counters and marks that belong to no row. Writes join the caller's transaction.

import type { Database } from "./Database.ts";

/** Every setting with a meaning, in one place. */
export type SettingName =
  /** The Router instance that this endpoint is bound to, and the number of its term: see RouterTerms.ts. */
  | "router_instance_id"
  | "router_term"
  /** The last mailbox cursor of that term whose effects are in the store. */
  | "router_cursor"
  /** Envelopes ever put into the outbox. */
  | "enqueued_sends"
  /** How many of them that Router was never offered, because earlier ones took them. */
  | "enqueued_before"
  /** When the store was found to be older than what its agent signed: see LostMemory.ts. Never removed. */
  | "memory_lost_at"
  /** When a conversation last recovered since then. */
  | "memory_back_at"
  /** The term of the Router in which that was found, or the first one after it where there was none. */
  | "memory_lost_term"
  /** The digest of the backup that the store came from, where it came from one. */
  | "restored_from"
  /** The last record sequence whose signatures a start-up or a stop has verified. */
  | "verified_sequence"
  /** When a store in trouble was last written to, to see whether it can be: see StoreStanding.ts. */
  | "probed_at";

export const text = (db: Database, name: SettingName): string | null => {
  const row = db.get("SELECT CAST(value AS TEXT) AS value FROM setting WHERE name = ?", name);
  return row === undefined ? null : (row["value"] as string);
};

export const integer = (db: Database, name: SettingName): number => Number(text(db, name) ?? 0);

export const put = (db: Database, name: SettingName, value: string | number): void => {
  db.run(
    "INSERT INTO setting (name, value) VALUES (?, CAST(? AS BLOB)) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    name,
    String(value),
  );
};

export const remove = (db: Database, name: SettingName): void => {
  db.run("DELETE FROM setting WHERE name = ?", name);
};
