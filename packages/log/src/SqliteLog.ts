// The sqlite engine: one file, WAL, synchronous=FULL. All units of work that arrive in one turn of the event loop share
// one transaction and one fsync (group commit); none resolves before the commit. A service may keep tables of its own in
// the same file and change them in the same unit (`migrate`, `transact`). Several processes may use one file.

import { DatabaseSync } from "node:sqlite";
import type { AppendOptions, AppendResult, Log, Position, StreamName } from "./Log.ts";

/** The writer of one unit of work. Exists only inside the function given to `transact`. */
export interface LogTransaction {
  /** For the service's own tables, same file, same transaction. Never BEGIN, COMMIT or touch `log_` tables. */
  readonly database: DatabaseSync;
  readonly append: (stream: StreamName, bytes: Uint8Array, options?: AppendOptions) => AppendResult;
  readonly erase: (stream: StreamName, from: Position, through: Position) => void;
  readonly tail: (stream: StreamName) => Position;
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
