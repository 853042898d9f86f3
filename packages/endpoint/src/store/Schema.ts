// Which version of the schema a store has, whether this program may use it, and how an older one is brought up: step by
// step, each whole or not at all. What is refused is refused by reading alone. Implements RUN-170 to RUN-173.

import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, migrations } from "./Migrations.ts";
import { StoreError } from "./StoreError.ts";

const versionOf = (sqlite: DatabaseSync): number =>
  Number(sqlite.prepare("PRAGMA user_version").get()?.["user_version"]);

/** Of the tables and indexes of a database, in their own words; two that agree in it have the same schema. */
export const fingerprintOf = (sqlite: DatabaseSync): string => {
  const digest = createHash("sha256");
  const objects = sqlite
    .prepare(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name",
    )
    .all();
  for (const { type, name, tbl_name: table, sql } of objects) {
    digest.update(`${JSON.stringify([type, name, table, sql])}\n`);
  }
  return digest.digest("base64url");
};

const newer = (version: number, known: number): StoreError =>
  new StoreError(
    "newer-schema",
    `the store has schema ${version} and this program knows ${known}`,
    "start the newer program, the store is untouched",
  );

/** A store without a version is new, and has no tables. */
const none = createHash("sha256").digest("base64url");

const knownVersionOf = (sqlite: DatabaseSync, steps: ReadonlyArray<Migration>): number => {
  const version = versionOf(sqlite);
  if (version > steps.length) throw newer(version, steps.length);
  const expected = version === 0 ? none : steps[version - 1]?.fingerprint;
  if (expected === fingerprintOf(sqlite)) return version;
  throw new StoreError(
    "unknown-schema",
    `the store says that it has schema ${version}, but its tables are others: a program from before the first release ` +
      "wrote it, or somebody changed it",
    "start the program that wrote it, or restore the store from a backup; nothing has been changed or deleted",
  );
};

/** Refuses a store of a newer program, and one whose tables are those of no released version. */
export const demandKnown = (sqlite: DatabaseSync, steps = migrations): void => {
  knownVersionOf(sqlite, steps);
};

/** As `demandKnown`, and refuses an older one: for whoever only reads. */
export const demandCurrent = (sqlite: DatabaseSync): void => {
  const version = knownVersionOf(sqlite, migrations);
  if (version === migrations.length) return;
  throw new StoreError(
    "older-schema",
    `the store has schema ${version} and this program knows ${migrations.length}`,
    "start the daemon once, which brings it up",
  );
};

/** Brings the store up to the last of `steps`. A step that fails leaves it at the version before. */
export const bringUp = (sqlite: DatabaseSync, steps = migrations): void => {
  const version = knownVersionOf(sqlite, steps);
  for (const [index, { sql }] of steps.entries()) {
    if (index < version) continue;
    sqlite.exec("BEGIN IMMEDIATE");
    try {
      sqlite.exec(sql);
      sqlite.exec(`PRAGMA user_version = ${index + 1}`);
      sqlite.exec("COMMIT");
    } catch (error) {
      if (sqlite.isTransaction) sqlite.exec("ROLLBACK");
      throw error;
    }
  }
};
