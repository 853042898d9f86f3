import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { migrations } from "../../src/store/Migrations.ts";
import { alter, temporaryPath, temporaryStore } from "./TemporaryStore.ts";

const put = (db: Database.Database, name: string): void =>
  void db.run("INSERT INTO setting (name, value) VALUES (?, x'01')", name);

const names = (db: Database.Database): ReadonlyArray<unknown> =>
  db.all("SELECT name FROM setting ORDER BY name").map((row) => row["name"]);

const refusal = (path: string): StoreError => {
  try {
    Database.open(path).close();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("the store was opened");
};

verifies("RUN-53", "a new store gets every migration, and opening it again changes nothing", () => {
  const path = temporaryPath();
  const first = Database.open(path);
  expect(first.get("PRAGMA user_version")).toEqual({ user_version: migrations.length });
  put(first, "a");
  first.close();
  const bytes = readFileSync(path);
  Database.open(path).close();
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

verifies("RUN-54", "a store that was refused is not kept open", () => {
  const path = temporaryPath();
  Database.open(path).close();
  alter(path, (sqlite) => sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA user_version = 99"));
  for (const open of [Database.open, Database.openSnapshot]) {
    expect(() => open(path)).toThrow(StoreError);
    // Only whoever is alone with a file may change its kind of journal.
    alter(path, (sqlite) => {
      const alone = sqlite.prepare("PRAGMA journal_mode = DELETE").get();
      expect(alone).toEqual({ journal_mode: "delete" });
      sqlite.exec("PRAGMA journal_mode = WAL");
    });
  }
});

verifies("RUN-50", "every commit is on the disk before it returns", () => {
  const db = temporaryStore();
  expect(db.get("PRAGMA synchronous")).toEqual({ synchronous: 2 });
  expect(db.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  expect(db.get("PRAGMA foreign_keys")).toEqual({ foreign_keys: 1 });
});

verifies("RUN-53", "a store of a newer program is refused and stays byte for byte what it was", () => {
  const path = temporaryPath();
  alter(path, (sqlite) => {
    sqlite.exec(`CREATE TABLE later (one TEXT) STRICT; PRAGMA user_version = ${migrations.length + 1}`);
  });
  const bytes = readFileSync(path);
  const { reason, message } = refusal(path);
  expect(reason).toBe("newer-schema");
  expect(message).toContain(`schema ${migrations.length + 1}`);
  expect(message).toContain("start the newer program");
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

verifies(
  ["RUN-53", "RUN-173"],
  "a database of another program is no new store, and stays what it was",
  () => {
    const path = temporaryPath();
    alter(path, (sqlite) => sqlite.exec("CREATE TABLE intent (foreign_to_this_program TEXT) STRICT"));
    expect(refusal(path).reason).toBe("unknown-schema");
    alter(path, (sqlite) => {
      expect(sqlite.prepare("PRAGMA user_version").get()).toEqual({ user_version: 0 });
      expect(sqlite.prepare("SELECT name FROM sqlite_schema").all()).toHaveLength(1);
    });
  },
);

verifies("RUN-54", "a file that is no store, or half of one, is refused with a sentence", () => {
  const path = temporaryPath();
  writeFileSync(path, "these are not the bytes of a database, but long enough to look at\n".repeat(40));
  expect(refusal(path).reason).toBe("corrupt");
  expect(refusal(path).message).toContain("nothing has been changed or deleted");
  const other = temporaryPath();
  Database.open(other).close();
  truncateSync(other, 8_192);
  expect(refusal(other).reason).toBe("corrupt");
});

verifies("RUN-54", "a folder without the store's file says that it is unavailable", () => {
  const folder = dirname(temporaryPath());
  expect(refusal(folder).reason).toBe("unavailable");
  expect(refusal(`${folder}/absent/endpoint.sqlite`).reason).toBe("unavailable");
});

verifies("RUN-54", "a store that cannot be written says so", () => {
  const path = temporaryPath();
  const db = temporaryStore(path);
  db.get("PRAGMA query_only = 1");
  try {
    db.transaction(() => put(db, "a"));
    throw new Error("it was written");
  } catch (error) {
    expect(Database.isStoreFailure(error)).toBe(true);
  }
});

verifies(
  "RUN-51",
  "nested transactions are savepoints: the inner one is undone alone, the outer one takes all",
  () => {
    const db = temporaryStore();
    db.transaction(() => {
      put(db, "a");
      expect(() =>
        db.transaction(() => {
          put(db, "b");
          db.transaction(() => put(db, "c"));
          throw new Error("inner");
        }),
      ).toThrow("inner");
      db.transaction(() => put(db, "d"));
    });
    expect(names(db)).toEqual(["a", "d"]);
    expect(() =>
      db.transaction(() => {
        db.transaction(() => put(db, "e"));
        throw new Error("outer");
      }),
    ).toThrow("outer");
    expect(names(db)).toEqual(["a", "d"]);
    expect(db.inTransaction()).toBe(false);
  },
);

verifies("RUN-52", "nothing is written piece by piece after SQLite gave up a transaction", () => {
  const db = temporaryStore();
  expect(() =>
    db.transaction(() => {
      db.run("ROLLBACK");
      expect(db.inTransaction()).toBe(false);
      db.transaction(() => put(db, "a"));
    }),
  ).toThrow("gave up");
  expect(names(db)).toEqual([]);
  db.transaction(() => put(db, "b"));
  expect(names(db)).toEqual(["b"]);
});

verifies("RUN-51", "a broken constraint is a defect of its writer, not a failure of the store", () => {
  const db = temporaryStore();
  put(db, "a");
  try {
    put(db, "a");
    throw new Error("it was written twice");
  } catch (error) {
    expect(Database.isStoreFailure(error)).toBe(false);
    expect(String(error)).toContain("UNIQUE");
  }
});

verifies("RUN-52", "a foreign lock makes a write fail after its time, and the store goes on", () => {
  const path = temporaryPath();
  const db = Database.open(path, 50);
  alter(path, (other) => {
    other.exec("BEGIN IMMEDIATE");
    expect(() => db.transaction(() => put(db, "a"))).toThrow("locked");
    other.exec("ROLLBACK");
  });
  db.transaction(() => put(db, "b"));
  expect(names(db)).toEqual(["b"]);
  db.close();
});
