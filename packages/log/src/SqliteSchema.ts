// Opening the file and keeping its tables at the version that the code expects. Several components share one file; each
// has a number of migration scripts that have run. A script that was released is never edited; later ones stand behind it.
// What this program must not use is found by reading alone, and stays byte for byte what it was. Implements RUN-174.

import { DatabaseSync } from "node:sqlite";
import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { LogError } from "./LogError.ts";
import * as Limits from "./Limits.ts";
import { demandWhole } from "./SqliteFile.ts";

/** "SHLG": a file that carries another id is somebody else's database. */
const applicationId = 0x53_48_4c_47;

export const logScripts: ReadonlyArray<string> = [
  `CREATE TABLE log_stream (
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
   CREATE UNIQUE INDEX log_entry_dedupe ON log_entry (stream, dedupe_id) WHERE dedupe_id IS NOT NULL;`,
];

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

/** Runs `work` in one write transaction; for start-up, where nothing shares a commit. */
const exclusively = (database: DatabaseSync, work: () => void): void => {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
};

const newer = (component: string): LogError =>
  new LogError(
    "newer",
    `a newer program wrote the log's file (component "${component}"): start that one, the file is untouched`,
  );

/** Runs the scripts of `component` that this file has not seen. Refuses a file that has seen more than there are. */
export const migrate = (database: DatabaseSync, component: string, scripts: ReadonlyArray<string>): void => {
  exclusively(database, () => {
    const row = database.prepare("SELECT version FROM log_component WHERE name = ?").get(component);
    const version = row === undefined ? 0 : (row["version"] as number);
    if (version > scripts.length) throw newer(component);
    if (version === scripts.length) return;
    for (const script of scripts.slice(version)) database.exec(script);
    database
      .prepare(
        `INSERT INTO log_component (name, version) VALUES (?, ?)
         ON CONFLICT (name) DO UPDATE SET version = excluded.version`,
      )
      .run(component, scripts.length);
  });
};

/** Whether the file is a log already; an empty one may become one, and any other is refused. */
const isClaimed = (database: DatabaseSync): boolean => {
  if (pragma(database, "application_id") === applicationId) return true;
  if (database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined) return false;
  throw new LogError("damaged", "the file is a database of another program");
};

const claim = (database: DatabaseSync): void => {
  exclusively(database, () => {
    if (isClaimed(database)) return;
    database.exec(`PRAGMA application_id = ${applicationId}`);
    database.exec("CREATE TABLE log_component (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT");
  });
};

/** How many scripts of a component this program has, by its name. */
export type KnownVersions = Readonly<Record<string, number>>;

/** SQLITE_READONLY: a first start that was killed left a journal, which only a writer can undo. */
const needsWriter = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && (Number(cause.errcode) & 0xff) === 8;

/** Every page, in its place: one that is torn would be met when somebody needs it, and served around until then. */
const demandSound = (database: DatabaseSync): void => {
  const problem = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
  if (problem !== "ok") throw new LogError("damaged", "the log's file is not a sound database");
};

/**
 * Looks before anything is touched. A connection that may write changes the journal mode, and folds the write-ahead log
 * into the file when it is closed again.
 */
const lookAt = (path: string, known: KnownVersions): void => {
  demandWhole(path);
  if (!existsSync(path) || statSync(path).size === 0) return;
  const database = new DatabaseSync(path, { timeout: Limits.busyMsMax, readOnly: true });
  try {
    if (!isClaimed(database)) return;
    for (const { name, version } of database.prepare("SELECT name, version FROM log_component").all()) {
      const component = String(name);
      if (Object.hasOwn(known, component) && Number(version) > (known[component] ?? 0))
        throw newer(component);
    }
    demandSound(database);
  } catch (cause) {
    if (!needsWriter(cause)) throw cause;
  } finally {
    database.close();
  }
};

/** Opens or creates the file, readable by its owner only, in the one durable mode. */
export const openDatabase = (path: string, known: KnownVersions = {}): DatabaseSync => {
  const onDisk = path !== ":memory:";
  if (onDisk) lookAt(path, { ...known, log: logScripts.length });
  // SQLite would create the file by the umask; its WAL and index files take the mode of the database.
  if (onDisk) closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path, { timeout: Limits.busyMsMax });
  try {
    if (pragma(database, "journal_mode = WAL") !== "wal" && onDisk) {
      throw new LogError("unavailable", "the log's file system cannot hold a write-ahead log");
    }
    database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
    database.exec(`PRAGMA journal_size_limit = ${Limits.walBytesKeptMax}`);
    // What a unit may have to undo stays in memory: a large group would write it to a temporary file first.
    database.exec("PRAGMA temp_store = MEMORY");
    claim(database);
    migrate(database, "log", logScripts);
    database.exec(`PRAGMA busy_timeout = ${Limits.busyLookMs}`);
    return database;
  } catch (cause) {
    database.close();
    throw cause;
  }
};
