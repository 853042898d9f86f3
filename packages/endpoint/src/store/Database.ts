// One SQLite file per endpoint: opening, pragmas, statements and the single write transaction. Every commit is durable
// (synchronous=FULL) before it returns. Which schema the file may have is Schema.ts's; knows no table's meaning.

import { statSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import * as Schema from "./Schema.ts";
import { StoreError } from "./StoreError.ts";
import * as StoreFile from "./StoreFile.ts";
import { isReadOnly, isSqliteError, resultCodeOf } from "./StoreFault.ts";

export type Row = Readonly<Record<string, SQLInputValue>>;

export interface Database {
  /** The first row, or undefined. */
  readonly get: (sql: string, ...values: ReadonlyArray<SQLInputValue>) => Row | undefined;
  readonly all: (sql: string, ...values: ReadonlyArray<SQLInputValue>) => ReadonlyArray<Row>;
  /** Rows one at a time, for walks that must not hold a table in memory. */
  readonly iterate: (sql: string, ...values: ReadonlyArray<SQLInputValue>) => Iterable<Row>;
  /** Runs a write and returns the number of changed rows. */
  readonly run: (sql: string, ...values: ReadonlyArray<SQLInputValue>) => number;
  /** Runs `body` in one durable transaction; nested calls are savepoints of the outer one. */
  readonly transaction: <A>(body: () => A) => A;
  /** False once SQLite has given up a transaction by itself: what follows would be written for good, piece by piece. */
  readonly inTransaction: () => boolean;
  readonly close: () => void;
}

/**
 * Prepared statements are kept: preparing costs more than most of them. The set of texts in the code is finite. SQLite itself
 * prepares one anew in every run whose plan it makes for the values that are bound: a bare `LIMIT ?`, or `= ?` beside an
 * `ORDER BY`. What runs with each post or page hides its values from the planner: `LIMIT ? + 0`, `= CAST(? AS TEXT)`.
 */
const statementsOf = (sqlite: DatabaseSync) => {
  const statements = new Map<string, StatementSync>();
  return (sql: string): StatementSync => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = sqlite.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
};

/** Primary result codes of SQLite that say what is wrong with the file itself. */
const damaged: ReadonlySet<number> = new Set([/* CORRUPT */ 11, /* NOTADB */ 26]);

const sqliteReadOnly = 8;

/** What an error of SQLite means to whoever opens or checks a store; any other error stays what it is. */
export const explained = (error: unknown): unknown => {
  if (!isSqliteError(error)) return error;
  const [reason, advice] = damaged.has(resultCodeOf(error))
    ? ([
        "corrupt",
        "the file is damaged; restore it from a backup, nothing has been changed or deleted",
      ] as const)
    : (["unavailable", "check the disk, the permissions and who else has it open"] as const);
  return new StoreError(reason, `the store cannot be used (${error.message})`, advice, { cause: error });
};

/**
 * Pages of the write-ahead log before it is folded into the file, 16 MB: commits change the same pages again and again, so a
 * longer log is folded with fewer writes, and whoever waits for that commit waits more rarely.
 */
const checkpointPages = 4_000;
/** What is left of it when a reader of another process had kept it from being folded: about two of these. */
const walBytesKeptMax = 33_554_432;

const prepareFile = (sqlite: DatabaseSync): void => {
  sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  sqlite.exec(`PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = ${checkpointPages};`);
  sqlite.exec(`PRAGMA journal_size_limit = ${walBytesKeptMax}`);
  // What a savepoint may have to undo is kept in memory: otherwise every fifth turn wrote it to a temporary file.
  sqlite.exec("PRAGMA temp_store = MEMORY;");
  Schema.bringUp(sqlite);
};

/** Opens the file, makes it ready by `prepare`, and closes it again when that fails. Throws `StoreError`. */
const opened = (
  path: string | URL,
  options: { readonly timeout: number; readonly readOnly?: boolean },
  prepare: (sqlite: DatabaseSync) => void,
): DatabaseSync => {
  let sqlite: DatabaseSync;
  try {
    sqlite = new DatabaseSync(path, options);
  } catch (error) {
    throw explained(error);
  }
  try {
    prepare(sqlite);
  } catch (error) {
    sqlite.close();
    throw explained(error);
  }
  return sqlite;
};

/**
 * How long a write of a running endpoint waits for a foreign lock: the whole process stands still meanwhile. Whoever can
 * wait longer comes again.
 */
const busyMsMax = 100;

/** Opens or creates the store. `busyMs`: how long to wait for a foreign lock before opening fails. Throws `StoreError`. */
export const open = (path: string, busyMs = 5_000): Database => {
  lookAt(path, busyMs);
  return databaseOf(
    opened(path, { timeout: busyMs }, (sqlite) => {
      prepareFile(sqlite);
      sqlite.exec(`PRAGMA busy_timeout = ${Math.min(busyMs, busyMsMax)}`);
    }),
  );
};

/**
 * Looks before it touches. A connection that may write folds the write-ahead log into the file when it is closed again, so
 * a store that is to be refused is only ever opened for reading, and stays byte for byte what it was.
 */
const lookAt = (path: string, busyMs: number): void => {
  guard(path, busyMs).close();
};

/**
 * While it is open, a connection that may write does not fold the write-ahead log into the file when it is closed: SQLite
 * leaves that to the last one, and this one only reads. So a store that is refused after it was opened stays what it was.
 */
export interface Guard {
  /** Safe to repeat. */
  readonly close: () => void;
}

/**
 * Of the store at `path`; of one that is not there yet, or whose first start was killed, there is nothing to guard. Throws
 * `StoreError` for what is no store of this program.
 */
export const guard = (path: string, busyMs = 5_000): Guard => {
  StoreFile.demandWhole(path);
  if (StoreFile.isEmpty(path)) return { close: () => {} };
  let sqlite: DatabaseSync | null;
  try {
    sqlite = opened(path, { timeout: busyMs, readOnly: true }, Schema.demandKnown);
  } catch (error) {
    if (!isWriterNeeded(error)) throw error;
    sqlite = null;
  }
  return {
    close: () => {
      sqlite?.close();
      sqlite = null;
    },
  };
};

/** A first start that was killed leaves a journal, which only a writer can undo. */
const isWriterNeeded = (error: unknown): boolean =>
  error instanceof StoreError && resultCodeOf(error.cause) === sqliteReadOnly;

/** The store as it is at one moment. */
export interface Snapshot extends Database {
  /**
   * Lets this moment go: the next read takes another. What is read in the meantime keeps the write-ahead log from being
   * folded, so whoever reads for long does this often.
   */
  readonly release: () => void;
}

/** Reads come from one snapshot from here on: it is taken with the first of them, which looks at the schema. */
const prepareSnapshot = (sqlite: DatabaseSync): void => {
  sqlite.exec("BEGIN");
  Schema.demandCurrent(sqlite);
};

/**
 * Opens the store as it is at this moment, for reading alone: beside a daemon that goes on writing, or without one. Every
 * write fails. Throws `StoreError`.
 */
export const openSnapshot = (path: string, busyMs = 5_000): Snapshot => {
  StoreFile.demandWhole(path);
  const sqlite = opened(asReadable(path), { timeout: busyMs, readOnly: true }, prepareSnapshot);
  return { ...databaseOf(sqlite), release: () => sqlite.exec("COMMIT; BEGIN") };
};

/**
 * SQLite makes an index beside a write-ahead log also to read. On a disk that nobody can write to it needs none when it is
 * told so, as long as no log is left there that would have to be read with the file.
 */
const asReadable = (path: string): string | URL => {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (!isReadOnly(path) || (log !== undefined && log.size > 0)) return path;
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
};

const databaseOf = (sqlite: DatabaseSync): Database => {
  const prepare = statementsOf(sqlite);
  let depth = 0;
  return {
    get: (sql, ...values) => prepare(sql).get(...values) as Row | undefined,
    all: (sql, ...values) => prepare(sql).all(...values) as unknown as ReadonlyArray<Row>,
    iterate: (sql, ...values) => prepare(sql).iterate(...values) as unknown as Iterable<Row>,
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    transaction: (body) => {
      const level = depth;
      if (level > 0 && !sqlite.isTransaction) {
        throw gaveUp();
      }
      prepare(level === 0 ? "BEGIN IMMEDIATE" : `SAVEPOINT level${level}`).run();
      depth = level + 1;
      try {
        const result = body();
        prepare(level === 0 ? "COMMIT" : `RELEASE level${level}`).run();
        return result;
      } catch (error) {
        if (sqlite.isTransaction) {
          sqlite.exec(level === 0 ? "ROLLBACK" : `ROLLBACK TO level${level}; RELEASE level${level}`);
        }
        throw error;
      } finally {
        depth = level;
      }
    },
    inTransaction: () => sqlite.isTransaction,
    close: () => sqlite.close(),
  };
};

/** SQLite ended a transaction by itself. */
export const gaveUp = (): StoreError =>
  new StoreError(
    "unavailable",
    "the store gave up the running transaction, so nothing of it happened",
    "try again; the log says why",
  );

/** Whether an error says that the store could not do its work, as opposed to a defect in the caller. */
export const isStoreFailure = (error: unknown): boolean =>
  error instanceof StoreError || (isSqliteError(error) && resultCodeOf(error) !== sqliteConstraint);

/** A broken constraint is a defect of the writer: the same input would break it again. */
const sqliteConstraint = 19;
