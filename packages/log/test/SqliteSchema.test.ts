// The versions of the log's file: a file of the first release is read and gone on with, and one of a later program stays
// byte for byte what it was, its write-ahead log included.

import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { logScripts } from "@social-harness/log/SqliteSchema";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf, readAll, textOf } from "./suite.ts";
import { temporaryFolder } from "./TemporaryFolder.ts";

const folder = temporaryFolder();
let files = 0;
const newPath = (): string => join(folder, `log-${++files}.sqlite`);

/** Version 1 as it was released, word for word. */
const released = `CREATE TABLE log_stream (
     stream INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     tail INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE log_entry (
     stream INTEGER NOT NULL REFERENCES log_stream,
     position INTEGER NOT NULL,
     dedupe_id TEXT,
     bytes BLOB NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX log_entry_position ON log_entry (stream, position);
   CREATE UNIQUE INDEX log_entry_dedupe ON log_entry (stream, dedupe_id) WHERE dedupe_id IS NOT NULL;`;

const alter = (path: string, change: (database: DatabaseSync) => void): void => {
  const database = new DatabaseSync(path);
  try {
    change(database);
  } finally {
    database.close();
  }
};

const filesOf = (path: string): ReadonlyArray<Buffer> =>
  [path, `${path}-wal`].map((one) => readFileSync(one));

const refused = (reason: string) => expect.objectContaining({ name: "LogError", reason });

verifies("RUN-171", "a log of the first release is read to its end and goes on", async () => {
  expect(logScripts[0]).toBe(released);
  const path = newPath();
  alter(path, (database) => {
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${0x53_48_4c_47};
      CREATE TABLE log_component (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
      INSERT INTO log_component (name, version) VALUES ('log', 1);
      ${released}
      INSERT INTO log_stream (stream, name, tail) VALUES (1, 's', 2);
      INSERT INTO log_entry (stream, position, dedupe_id, bytes) VALUES
        (1, 1, 'first', CAST('one' AS BLOB)), (1, 2, NULL, CAST('two' AS BLOB));`);
  });
  const log = openSqliteLog(path);
  expect(await log.append("s", bytesOf("one"), { dedupeId: "first" })).toEqual({
    kind: "duplicate",
    position: 1,
  });
  expect(await log.append("s", bytesOf("three"))).toEqual({ kind: "appended", position: 3 });
  expect((await readAll(log, "s")).map(({ bytes }) => textOf(bytes))).toEqual(["one", "two", "three"]);
  await log.close();
});

verifies(
  "RUN-174",
  "a log of a later program, or with a service's tables of one, is refused and no byte of it moves",
  async () => {
    for (const component of ["log", "service"]) {
      const path = newPath();
      const log = openSqliteLog(path);
      log.migrate("service", ["CREATE TABLE service_row (n INTEGER) STRICT"]);
      await log.append("s", bytesOf("one"));
      await log.close();
      const killed = newPath();
      alter(path, (database) => {
        database.prepare("UPDATE log_component SET version = 2 WHERE name = ?").run(component);
        copyFileSync(path, killed);
        copyFileSync(`${path}-wal`, `${killed}-wal`);
      });
      const before = filesOf(killed);
      expect(() => openSqliteLog(killed, { known: { service: 1 } })).toThrow(refused("newer"));
      expect(filesOf(killed)).toEqual(before);
      if (component === "log") continue;
      // Whoever uses other components of the file has nothing to refuse.
      await openSqliteLog(killed, { known: { other: 0 } }).close();
    }
  },
);
