// The versions of the schema: that released ones stay what they are, that a store of each opens with all that it holds, and
// that what this program must not use stays as it was, its write-ahead log included.

import { copyFileSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Database from "../../src/store/Database.ts";
import { type Migration, migrations } from "../../src/store/Migrations.ts";
import * as Schema from "../../src/store/Schema.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { alter, temporaryPath } from "./TemporaryStore.ts";
import { addresses, dumpOf, readAll, refusalOf, useWrittenStore } from "./WrittenStore.ts";

const store = useWrittenStore();

/** What was released, a line a version. A line is added with a version, and none is ever changed. */
const released = ["6tu-WI8kz1kUd3K-NoFvn6gDrGtSa6rc-6IrxozTNZ8"];

const versions = migrations.map((_, index) => index + 1);

/** A further version, as one will be written: a table, and a column that rows of before have a value for. */
const step = `
  CREATE TABLE later (name TEXT PRIMARY KEY, height INTEGER NOT NULL) STRICT;
  INSERT INTO later SELECT conversation_id, head_height FROM conversation WHERE head_height IS NOT NULL;
  ALTER TABLE intent ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;`;

const fingerprintAfter = (steps: ReadonlyArray<string>): string => {
  const sqlite = new DatabaseSync(":memory:");
  try {
    for (const sql of steps) sqlite.exec(sql);
    return Schema.fingerprintOf(sqlite);
  } finally {
    sqlite.close();
  }
};

const texts = migrations.map(({ sql }) => sql);
const next: ReadonlyArray<Migration> = [
  ...migrations,
  { sql: step, fingerprint: fingerprintAfter([...texts, step]) },
];

/** A store as the program of that version left it: its own tables, filled with the rows of a real one. */
const storeOfVersion = (version: number): string => {
  const path = temporaryPath();
  alter(path, (sqlite) => {
    sqlite.exec("PRAGMA journal_mode = WAL");
    for (const sql of texts.slice(0, version)) sqlite.exec(sql);
    sqlite.prepare("ATTACH ? AS real").run(store.copy());
    const tables = sqlite
      .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all();
    for (const { name } of tables) {
      const columns = sqlite.prepare(`PRAGMA main.table_info(${String(name)})`).all();
      const list = columns.map((column) => `"${String(column["name"])}"`).join(", ");
      sqlite.exec(`INSERT INTO main.${String(name)} (${list}) SELECT ${list} FROM real.${String(name)}`);
    }
    sqlite.exec(`PRAGMA user_version = ${version}`);
  });
  return path;
};

/** A copy of the store as a killed writer leaves it: what `change` did stands in the write-ahead log alone. */
const killedIn = (path: string, change: (sqlite: DatabaseSync) => void): string => {
  const copy = temporaryPath();
  alter(path, (sqlite) => {
    sqlite.exec("PRAGMA journal_mode = WAL");
    change(sqlite);
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
  });
  return copy;
};

const bytesOf = (path: string): ReadonlyArray<Buffer> =>
  [path, `${path}-wal`].map((one) => readFileSync(one));

/** Why reading and writing programs refuse a store, after a look at what it is then. */
const refusedUntouched = (path: string): StoreError => {
  const bytes = bytesOf(path);
  const reasons = [Database.open, Database.openSnapshot].map((open) => {
    try {
      open(path).close();
    } catch (error) {
      if (error instanceof StoreError) return error;
      throw error;
    }
    throw new Error("the store was opened");
  });
  expect(bytesOf(path)).toEqual(bytes);
  expect(new Set(reasons.map(({ reason }) => reason)).size).toBe(1);
  return reasons[0] as StoreError;
};

verifies("RUN-170", "the tables of each released version are what they were when it was released", () => {
  expect(migrations.map(({ fingerprint }) => fingerprint)).toEqual(released);
  expect(versions.map((version) => fingerprintAfter(texts.slice(0, version)))).toEqual(released);
});

verifies(
  "RUN-171",
  "a store of each released version opens and holds every record that it held",
  async () => {
    for (const version of versions) {
      const db = Database.open(storeOfVersion(version));
      try {
        expect(db.get("PRAGMA user_version")).toEqual({ user_version: migrations.length });
        expect((await check(db, store.trust)).verified).toBeGreaterThan(0);
        for (const address of addresses) {
          expect(await readAll(db, store.trust, address)).toEqual(store.histories.get(address));
        }
      } finally {
        db.close();
      }
    }
  },
);

verifies(
  "RUN-171",
  "a further step finds the rows of before, also those in the log of a killed program",
  () => {
    const path = killedIn(storeOfVersion(1), (sqlite) =>
      sqlite.exec("INSERT INTO setting (name, value) VALUES ('late', x'01')"),
    );
    alter(path, (sqlite) => {
      const before = sqlite.prepare("SELECT * FROM record ORDER BY sequence").all();
      Schema.bringUp(sqlite, next);
      Schema.bringUp(sqlite, next);
      expect(sqlite.prepare("PRAGMA user_version").get()).toEqual({ user_version: next.length });
      expect(Schema.fingerprintOf(sqlite)).toBe(next.at(-1)?.fingerprint);
      expect(sqlite.prepare("SELECT * FROM record ORDER BY sequence").all()).toEqual(before);
      expect(sqlite.prepare("SELECT value FROM setting WHERE name = 'late'").get()).toBeDefined();
      expect(sqlite.prepare("SELECT count(*) AS n FROM later").get()).toEqual({ n: 2 });
      expect(sqlite.prepare("SELECT DISTINCT attempts FROM intent").all()).toEqual([{ attempts: 0 }]);
    });
  },
);

verifies("RUN-171", "a step that fails half-way leaves the store at the version before, row by row", () => {
  const path = storeOfVersion(1);
  const before = dumpOf(path);
  alter(path, (sqlite) => {
    const broken = [...migrations, { sql: `${step} SELECT nonsense;`, fingerprint: "" }];
    expect(() => Schema.bringUp(sqlite, broken)).toThrow("nonsense");
    expect(Schema.fingerprintOf(sqlite)).toBe(migrations.at(-1)?.fingerprint);
  });
  expect(dumpOf(path)).toBe(before);
});

verifies(
  "RUN-172",
  "a newer store is refused by its number, and its write-ahead log stays where it is",
  () => {
    const path = killedIn(storeOfVersion(1), (sqlite) => Schema.bringUp(sqlite, next));
    const { reason, message } = refusedUntouched(path);
    expect(reason).toBe("newer-schema");
    expect(message).toContain(`schema ${next.length} and this program knows ${migrations.length}`);
  },
);

verifies(
  "RUN-173",
  "a store whose tables are those of no release is told as that and left as it is",
  async () => {
    for (const change of [
      "DROP TABLE webhook_attempt",
      "ALTER TABLE intent ADD COLUMN extra TEXT",
      "DROP INDEX own_vote_slot",
      "PRAGMA user_version = 0",
      "PRAGMA user_version = -1",
    ]) {
      const { reason, message } = refusedUntouched(killedIn(store.copy(), (sqlite) => sqlite.exec(change)));
      expect(reason, change).toBe("unknown-schema");
      expect(message).toContain("start the program that wrote it, or restore the store from a backup");
    }
    // What SQLite keeps for itself is no part of the schema.
    const analyzed = store.copy();
    alter(analyzed, (sqlite) => sqlite.exec("ANALYZE"));
    expect(await refusalOf(analyzed, store.trust)).toBeNull();
  },
);
