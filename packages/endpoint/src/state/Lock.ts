// One daemon a state folder. The kernel holds the lock, through SQLite's own on a small database: it goes by the file
// itself, so symlinks and bind mounts lead to the same one, and it ends with the process, so nothing can be stale.
// Implements RUN-21 and RUN-119.

import { DatabaseSync } from "node:sqlite";
import * as StoreFault from "../store/StoreFault.ts";
import * as ProcessBirth from "./ProcessBirth.ts";
import { StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

export interface Lock {
  readonly release: () => void;
}

/** Long enough for others that start at this moment to look and leave, so that one of them all gets the folder. */
const waitMs = 250;

/** Who holds the lock. */
export type Holder =
  /** That process and no later one of its pid. */
  | { readonly kind: "process"; readonly pid: number; readonly born: string }
  /** It cannot be seen from here: it is just starting, runs in another container, or is of an older program. */
  | { readonly kind: "unseen" };

const unseen: Holder = { kind: "unseen" };

/**
 * A writer shuts out writers only: whoever is refused can still read who holds the folder. Between the kill of one holder and
 * the first word of the next the row names the dead one, whose pid may be another program's by now: hence its birth.
 */
const holderOf = (database: DatabaseSync): Holder => {
  try {
    const row = database.prepare("SELECT pid, born FROM holder").get();
    const pid = Number(row?.["pid"] ?? 0);
    const born = row?.["born"];
    const isAlive = pid > 0 && typeof born === "string" && ProcessBirth.of(pid) === born;
    return isAlive ? { kind: "process", pid, born } : unseen;
  } catch {
    return unseen;
  }
};

/** SQLite says less of a disk than the disk does: a full and a read-only one are told apart from the rest. */
const unavailable = (folder: StateFolder, what: string, error: unknown): StateError => {
  const of = (why: string, next: string): StateError =>
    new StateError("unavailable", `${folder.lock} cannot be ${what}${why}`, next, { cause: error });
  switch (StoreFault.of(error, folder.lock)) {
    case "full":
      return of(": the disk is full", "make room and start again");
    case "read-only":
      return of(": the disk is read-only", "make it writable and start again");
    case "locked":
    case "damaged":
    case "input-output":
    case "gone":
    case "unavailable":
      return of("", "check the disk");
  }
};

const heldBy = (folder: StateFolder, holder: Holder): StateError =>
  holder.kind === "process"
    ? new StateError(
        "held",
        `${folder.path} is in use by the daemon with pid ${holder.pid}`,
        "have this one take its place with `social-harness daemon --replace`, or choose another --state",
      )
    : new StateError(
        "held",
        `${folder.path} is in use by another daemon, which is just starting or cannot be seen from here`,
        "try again in a moment; if it stays so, stop that daemon where it runs, or choose another --state",
      );

const refuse = (folder: StateFolder, database: DatabaseSync, error: unknown): never => {
  const fault = StoreFault.of(error, folder.lock);
  if (fault === "locked") {
    throw heldBy(folder, holderOf(database));
  }
  if (fault === "damaged") {
    throw new StateError(
      "malformed",
      `${folder.lock} is damaged`,
      `make sure that no daemon runs on ${folder.path}, then delete that one file and start again`,
    );
  }
  throw unavailable(folder, "locked", error);
};

const open = (folder: StateFolder, timeout: number): DatabaseSync => {
  try {
    return new DatabaseSync(folder.lock, { timeout });
  } catch (error) {
    throw unavailable(folder, "opened", error);
  }
};

/** An older program made the table without the births. */
const prepare = (database: DatabaseSync): void => {
  database.exec("CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER)");
  const hasBirths = "SELECT 1 FROM pragma_table_info('holder') WHERE name = 'born'";
  if (database.prepare(hasBirths).get() === undefined)
    database.exec("ALTER TABLE holder ADD COLUMN born TEXT");
};

/** By the birth too: in two containers both may be process 1. */
const isOwn = (database: DatabaseSync, born: string | null): boolean => {
  const row = database.prepare("SELECT pid, born FROM holder").get();
  return row?.["pid"] === process.pid && row["born"] === born;
};

/** Writes down who holds the folder, then holds it: a second transaction, which stays open, is the lock. */
const hold = (database: DatabaseSync, born: string | null): void => {
  do {
    // Again where another wrote between the two and did not get the lock: the row must name whoever has it.
    if (database.isTransaction) database.exec("ROLLBACK");
    database.exec("BEGIN IMMEDIATE");
    prepare(database);
    database
      .prepare("INSERT OR REPLACE INTO holder (one, pid, born) VALUES (1, ?, ?)")
      .run(process.pid, born);
    database.exec("COMMIT");
    database.exec("BEGIN IMMEDIATE");
  } while (!isOwn(database, born));
};

/**
 * Takes the folder for this process until `release` or its end. Throws `held`, naming the holder, when another has it.
 * Nobody else in the process may open the lock file: closing any descriptor of it would give the lock away.
 */
export const acquire = (folder: StateFolder): Lock => {
  const database = open(folder, waitMs);
  try {
    hold(database, ProcessBirth.of(process.pid));
  } catch (error) {
    try {
      refuse(folder, database, error);
    } finally {
      database.close();
    }
  }
  return { release: () => database.close() };
};

/**
 * Who holds the folder at this moment, or null when nobody does. `patienceMs` is for others that only look at this moment,
 * which without it may be taken for a holder that cannot be seen. Throws where the disk lets nobody tell.
 */
export const look = (folder: StateFolder, patienceMs = waitMs): Holder | null => {
  const database = open(folder, patienceMs);
  try {
    database.exec("BEGIN IMMEDIATE");
    // On a disk that takes no change SQLite tries no lock at all, and says so only of a write.
    if (StoreFault.isReadOnly(folder.lock)) database.exec("PRAGMA user_version = 0");
    return null;
  } catch (error) {
    if (StoreFault.isLocked(error)) return holderOf(database);
    return refuse(folder, database, error);
  } finally {
    database.close();
  }
};
