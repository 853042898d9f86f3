// One daemon a state folder. The kernel holds the lock, through SQLite's own on a small database: it goes by the file
// itself, so symlinks and bind mounts lead to the same one, and it ends with the process, so nothing can be stale.
// Implements RUN-21.

import { DatabaseSync } from "node:sqlite";
import * as StoreFault from "../store/StoreFault.ts";
import { StateError } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

export interface Lock {
  readonly release: () => void;
}

/** Long enough for others that start at this moment to look and leave, so that one of them all gets the folder. */
const waitMs = 250;

/** A writer shuts out writers only: whoever is refused can still read who holds the folder. */
const holderOf = (database: DatabaseSync): number | null => {
  try {
    return Number(database.prepare("SELECT pid FROM holder").get()?.pid ?? null) || null;
  } catch {
    return null;
  }
};

/** SQLite says less of a disk than the disk does: a full and a read-only one are told apart from the rest. */
const whyNot = (folder: StateFolder, error: unknown): string => {
  switch (StoreFault.of(error, folder.lock)) {
    case "full":
      return "the disk is full: make room and start again";
    case "read-only":
      return "the disk is read-only: make it writable and start again";
    case "locked":
    case "damaged":
    case "input-output":
    case "unavailable":
      return "check the disk";
  }
};

const refuse = (folder: StateFolder, database: DatabaseSync, error: unknown): never => {
  const fault = StoreFault.of(error, folder.lock);
  if (fault === "locked") {
    const pid = holderOf(database);
    const holder = pid === null ? "another daemon that is just starting" : `the daemon with pid ${pid}`;
    throw new StateError("held", `${folder.path} is in use by ${holder}: stop it, or choose another --state`);
  }
  if (fault === "damaged") {
    throw new StateError(
      "malformed",
      `${folder.lock} is damaged: make sure that no daemon runs on ${folder.path}, then delete that one file and start again`,
    );
  }
  throw new StateError("unavailable", `${folder.lock} cannot be locked: ${whyNot(folder, error)}`, {
    cause: error,
  });
};

/**
 * Takes the folder for this process until `release` or its end. Throws `held`, naming the holder, when another has it.
 * Nobody else in the process may open the lock file: closing any descriptor of it would give the lock away.
 */
export const acquire = (folder: StateFolder): Lock => {
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(folder.lock, { timeout: waitMs });
  } catch (error) {
    throw new StateError("unavailable", `${folder.lock} cannot be opened: ${whyNot(folder, error)}`, {
      cause: error,
    });
  }
  try {
    database.exec("BEGIN IMMEDIATE");
    database.exec("CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER)");
    database.prepare("INSERT OR REPLACE INTO holder (one, pid) VALUES (1, ?)").run(process.pid);
    database.exec("COMMIT");
    // This second transaction is the lock. Whoever came between the two wins, and this process is refused.
    database.exec("BEGIN IMMEDIATE");
  } catch (error) {
    try {
      refuse(folder, database, error);
    } finally {
      database.close();
    }
  }
  return { release: () => database.close() };
};
