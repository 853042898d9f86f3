// How the store does, for people and for whoever must wait for it: every failure of it is noticed here, said once, and
// watched by a small write a second until the store works again. So is a store whose files are no longer where they were
// opened, before it is written to. Repairs nothing. Implements RUN-110 to RUN-113, RUN-322 and RUN-323.

import { basename } from "node:path";
import type { Logger } from "@social-harness/router/Logger";
import { type Database, isStoreFailure } from "./Database.ts";
import * as OpenFiles from "./OpenFiles.ts";
import * as Settings from "./Settings.ts";
import { StoreError } from "./StoreError.ts";
import * as StoreFault from "./StoreFault.ts";

export interface StoreTrouble {
  readonly reason: StoreFault.StoreFault;
  readonly explanation: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

export interface StoreStanding {
  /** The store, watched: use it in the place of the one that was given. */
  readonly db: Database;
  /** Null while the store works, and for the first moment of a foreign lock. */
  readonly trouble: () => StoreTrouble | null;
  /** Called with each trouble that begins and with null when all is well again. Returns the function that ends it. */
  readonly subscribe: (listener: (trouble: StoreTrouble | null) => void) => () => void;
  readonly close: () => void;
}

export interface StoreStandingOptions {
  readonly db: Database;
  /** Its file. */
  readonly path: string;
  /** Others that the process has open and that must stay where they are. */
  readonly beside?: ReadonlyArray<string>;
  readonly clock: () => number;
  /** Calls `fire` once after `delayMs`; returns the function that stops it. */
  readonly schedule: (delayMs: number, fire: () => void) => () => void;
  readonly logger: Logger;
}

const probeMs = 1_000;
/** How often an idle store is looked at, whether its files are in their place. */
const lookMs = 3_000;
/** Between two such looks of a busy one. */
const lookMsMin = 1_000;
/** The same trouble within this time after its end is the old one: a disk that is nearly full would fill the log. */
const relapseMs = 60_000;
/**
 * How long a trouble that came again must be away before it counts as over: a small write may fit where the next turn does not.
 * Twice as long with each time, up to the second.
 */
const awayMsMin = 2_000;
const awayMsMax = 15_000;

/** A read that failed, to be done again; null where what failed was a write. */
type Again = (() => unknown) | null;

/** Tells of every error that leaves the store. Nothing is written without `demandPlace`. */
const watched = (
  db: Database,
  demandPlace: () => void,
  failed: (error: unknown, again: Again) => void,
): Database => {
  const placed = <A>(write: () => A): A => {
    // A transaction that has begun ends as a whole.
    if (!db.inTransaction()) demandPlace();
    return write();
  };
  const telling = <A>(work: () => A, again: Again = null): A => {
    try {
      return work();
    } catch (error) {
      failed(error, again);
      throw error;
    }
  };
  const reading = <A>(work: () => A): A => telling(work, work);
  return {
    ...db,
    get: (sql, ...values) => reading(() => db.get(sql, ...values)),
    all: (sql, ...values) => reading(() => db.all(sql, ...values)),
    run: (sql, ...values) => telling(() => placed(() => db.run(sql, ...values))),
    transaction: (body) => telling(() => placed(() => db.transaction(body))),
  };
};

export const create = (options: StoreStandingOptions): StoreStanding => {
  const { db, path, clock, schedule, logger } = options;
  const files = OpenFiles.watch([path, `${path}-wal`, `${path}-shm`, ...(options.beside ?? [])]);
  const listeners = new Set<(trouble: StoreTrouble | null) => void>();
  let trouble: StoreTrouble | null = null;
  let stopProbe: (() => void) | null = null;
  let last: { readonly reason: StoreFault.StoreFault; readonly endedAt: number } | null = null;
  let again: Again = null;
  let isSaid = false;
  /** For how long the present trouble must be away, and since when it is; null while it is not. */
  let awayMs = 0;
  let awaySince: number | null = null;
  let closed = false;
  let lost: string | null = null;
  let lookedAt = -Infinity;
  let stopLook: (() => void) | null = null;

  const tell = (): void => {
    for (const listener of listeners) listener(trouble);
  };

  const begin = (reason: StoreFault.StoreFault, error: unknown): void => {
    const explanation = StoreFault.explain(reason);
    const now = clock();
    const isRelapse = last?.reason === reason && Math.abs(now - last.endedAt) <= relapseMs;
    awayMs = isRelapse ? Math.min(Math.max(2 * awayMs, awayMsMin), awayMsMax) : 0;
    awaySince = null;
    isSaid = !isRelapse;
    trouble = { reason, explanation, since: trouble?.since ?? now };
    if (isSaid) logger("error", "the store cannot be used", { reason, explanation, error: String(error) });
    tell();
  };

  const end = (): void => {
    if (trouble === null) return;
    const now = clock();
    last = { reason: trouble.reason, endedAt: now };
    if (isSaid) {
      const seconds = Math.max(0, Math.round((now - trouble.since) / 1_000));
      logger("warn", "the store works again", { reason: trouble.reason, seconds });
    }
    trouble = null;
    tell();
  };

  const demandPlace = (): void => {
    const now = clock();
    if (Math.abs(now - lookedAt) >= lookMsMin) {
      lookedAt = now;
      lost = files.lost();
    }
    if (lost === null) return;
    const what = `${basename(lost)} is not the file that was opened`;
    const gone = StoreFault.words("gone");
    throw new StoreError("unavailable", `${what}: ${gone.what}`, gone.next);
  };

  const reasonOf = (error: unknown): StoreFault.StoreFault =>
    lost === null ? StoreFault.of(error, path) : "gone";

  const watch = (): void => {
    stopProbe = closed ? null : schedule(probeMs, probe);
  };

  const probe = (): void => {
    stopProbe = null;
    try {
      demandPlace();
      again?.();
      again = null;
      db.transaction(() => Settings.put(db, "probed_at", clock()));
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      const reason = reasonOf(error);
      awaySince = null;
      if (trouble?.reason !== reason) begin(reason, error);
      return watch();
    }
    // A write that still fits into the log shows no room for the next one.
    if (trouble?.reason === "full" && !StoreFault.hasRoom(path)) return watch();
    awaySince ??= clock();
    if (Math.abs(clock() - awaySince) < awayMs) watch();
    else end();
  };

  const failed = (error: unknown, read: Again): void => {
    if (closed || !isStoreFailure(error)) return;
    const reason = reasonOf(error);
    if (reason === "damaged" && trouble?.reason !== "damaged") {
      stopProbe?.();
      stopProbe = null;
      again = read;
      begin(reason, error);
      // A read is tried again, because a disk that failed to read a page shows itself as this. A page that no write gets
      // past is the next start's to judge.
      if (read !== null) watch();
      return;
    }
    if (trouble !== null) awaySince = null;
    if (trouble !== null || stopProbe !== null) return;
    again = read;
    // Many programs look into a store for a moment: a lock is a trouble when it lasts.
    if (reason !== "locked") begin(reason, error);
    watch();
  };

  const lookAround = (): void => {
    stopLook = schedule(lookMs, lookAround);
    try {
      demandPlace();
    } catch (error) {
      failed(error, null);
    }
  };
  lookAround();

  return {
    db: watched(db, demandPlace, failed),
    trouble: () => trouble,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      closed = true;
      stopLook?.();
      stopProbe?.();
      stopProbe = null;
    },
  };
};
