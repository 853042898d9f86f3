// The sqlite engine: one file, WAL, synchronous=FULL. All units of work that arrive in one turn of the event loop share
// one transaction and one fsync (group commit); none resolves before the commit. A service may keep tables of its own in
// the same file and change them in the same unit (`migrate`, `transact`). Several processes may use one file.

import type { DatabaseSync } from "node:sqlite";
import { checkAppend, pageLimit } from "./Arguments.ts";
import { makeGroupCommit } from "./GroupCommit.ts";
import type { AppendOptions, AppendResult, Entry, Log, Position, StreamName } from "./Log.ts";
import { LogError } from "./LogError.ts";
import * as OpenFiles from "./OpenFiles.ts";
import * as Limits from "./Limits.ts";
import { makeSqliteEntries } from "./SqliteEntries.ts";
import { faultOf, guarded } from "./SqliteFault.ts";
import { type KnownVersions, migrate, openDatabase } from "./SqliteSchema.ts";
import { subscription } from "./Subscription.ts";
import { makeWakeups } from "./Wakeups.ts";

/** The writer of one unit of work. Exists only inside the function given to `transact`. */
export interface LogTransaction {
  /** For the service's own tables, same file, same transaction. Never BEGIN, COMMIT or touch `log_` tables. */
  readonly database: DatabaseSync;
  readonly append: (stream: StreamName, bytes: Uint8Array, options?: AppendOptions) => AppendResult;
  readonly erase: (stream: StreamName, from: Position, through: Position) => void;
  readonly tail: (stream: StreamName) => Position;
  readonly read: (stream: StreamName, from: Position, limit: number) => ReadonlyArray<Entry>;
}

export interface SqliteLog extends Log {
  /**
   * The one connection, for prepared statements and for reads. It is synchronous, so a read between units never sees
   * half of one, but it may see a unit that is about to be committed only from inside `transact`.
   */
  readonly database: DatabaseSync;
  /**
   * Runs `work` synchronously inside the next group's transaction, after the units queued before it and seeing their
   * effects, and resolves with its result once the transaction is on disk. When `work` throws, its own writes alone are
   * rolled back and the promise rejects with what it threw. When the commit fails, every unit of the group rejects with
   * `unavailable` and nothing happened: so `work` must change nothing but the database, and memory follows the result.
   */
  readonly transact: <T>(work: (transaction: LogTransaction) => T) => Promise<T>;
  /**
   * Brings the tables of one component up to date: each script runs once in the life of the file, in order, in one
   * transaction. Tables are STRICT and named with a prefix of the component.
   */
  readonly migrate: (component: string, scripts: ReadonlyArray<string>) => void;
}

export interface SqliteLogOptions {
  /**
   * Writes each commit on into the file itself before its promises settle, so that a copy of that one file, without its
   * write-ahead log, is nearly whole. Costs another fsync a commit: for a log that is written seldom and must not be lost.
   */
  readonly keepsFileWhole?: boolean;
  /** The components that the services of this program keep in the file: one that is newer there is refused before anything is touched. */
  readonly known?: KnownVersions;
  /** Other files that the process has open and that must stay in their place: its lock on the folder. */
  readonly beside?: ReadonlyArray<string>;
}

/** Opens or creates the log at `path` (`:memory:` is a private one that keeps nothing). Throws `LogError`. */
export const openSqliteLog = (
  path: string,
  { keepsFileWhole = false, known, beside = [] }: SqliteLogOptions = {},
): SqliteLog => {
  const database = open(path, known);
  const entries = makeSqliteEntries(database);
  const wakeups = makeWakeups((any) => (any ? poll.start() : poll.stop()));
  const poll = pollChanges(database, wakeups.notify);
  const settleFile = keepsFileWhole ? checkpointOf(database) : (): void => {};
  settleFile();
  const files = path === ":memory:" ? null : OpenFiles.watch(path, beside);
  const demandPlace = (): void => files?.demandPlace();
  const group = makeGroupCommit(database, {
    demandPlace,
    committed: () => {
      settleFile();
      wakeups.notify();
    },
  });
  const transaction: LogTransaction = { database, ...entries };
  let closed = false;

  const whenOpen = <T>(work: () => T): T => {
    if (closed) throw new LogError("closed", "the log is closed");
    return guarded(work);
  };
  const transact: SqliteLog["transact"] = async (work) =>
    whenOpen(() => group.enqueue(() => work(transaction)));
  const read: Log["read"] = async (stream, from, limit) =>
    whenOpen(() => entries.read(stream, from, pageLimit(limit)));

  return {
    database,
    transact,
    migrate: (component, scripts) => whenOpen(() => migrate(database, component, scripts)),
    append: async (stream, bytes, options = {}) => {
      checkAppend(stream, bytes, options);
      return transact((unit) => unit.append(stream, bytes, options));
    },
    read,
    tail: async (stream) =>
      whenOpen(() => {
        demandPlace();
        return entries.tail(stream);
      }),
    subscribe: (stream, from, signal) => subscription(read, wakeups, stream, from, signal),
    erase: (stream, from, through) => transact((unit) => unit.erase(stream, from, through)),
    close: async () => {
      if (closed) return;
      closed = true;
      poll.stop();
      group.drain();
      files?.close();
      database.close();
      wakeups.notify();
    },
  };
};

/** A path that cannot be opened is `unavailable`, whether the file system or SQLite says so. */
const open = (path: string, known: KnownVersions | undefined): DatabaseSync => {
  try {
    return guarded(() => openDatabase(path, known));
  } catch (cause) {
    if (cause instanceof LogError) throw cause;
    throw new LogError("unavailable", "the log's file cannot be opened", cause);
  }
};

/** Moves what is committed into the file, as far as no other process reads it in its old place: never waits for one. */
const checkpointOf = (database: DatabaseSync): (() => void) => {
  const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  return () => {
    try {
      checkpoint.get();
    } catch (cause) {
      // What was committed is safe where it stands, and the next commit meets the same fault where it can be reported.
      if (faultOf(cause) === null) throw cause;
    }
  };
};

/** Notices commits of other processes on the same file, only while somebody waits for entries. */
const pollChanges = (database: DatabaseSync, changed: () => void) => {
  const version = database.prepare("PRAGMA data_version");
  let seen: unknown;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    let now: unknown;
    try {
      now = version.get()?.["data_version"];
    } catch (cause) {
      // The reader that is woken meets the same fault where it can be reported.
      now = cause;
    }
    if (now === seen) return;
    seen = now;
    changed();
  };
  return {
    start: () => {
      timer ??= setInterval(look, Limits.pollMs).unref();
    },
    stop: () => {
      clearInterval(timer);
      timer = undefined;
    },
  };
};
