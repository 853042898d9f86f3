// The statements of the sqlite engine: one stream's entries inside whatever transaction is open. Decides nothing about
// when a transaction begins or ends.

import type { DatabaseSync } from "node:sqlite";
import { checkAppend, checkPosition, checkStream } from "./Arguments.ts";
import type { AppendOptions, AppendResult, Entry, Position, StreamName } from "./Log.ts";
import * as Limits from "./Limits.ts";

export interface SqliteEntries {
  readonly append: (stream: StreamName, bytes: Uint8Array, options?: AppendOptions) => AppendResult;
  readonly erase: (stream: StreamName, from: Position, through: Position) => void;
  readonly tail: (stream: StreamName) => Position;
  readonly read: (stream: StreamName, from: Position, limit: number) => ReadonlyArray<Entry>;
}

export const makeSqliteEntries = (database: DatabaseSync): SqliteEntries => {
  const streamByName = database.prepare("SELECT stream, tail FROM log_stream WHERE name = ?");
  const createStream = database.prepare(
    "INSERT INTO log_stream (name, tail) VALUES (?, 0) RETURNING stream, tail",
  );
  const advance = database.prepare("UPDATE log_stream SET tail = ? WHERE stream = ?");
  const byDedupeId = database.prepare(
    "SELECT position, bytes FROM log_entry WHERE stream = ? AND dedupe_id = ?",
  );
  const insert = database.prepare(
    "INSERT INTO log_entry (stream, position, dedupe_id, bytes) VALUES (?, ?, ?, ?)",
  );
  // A bare parameter behind LIMIT would have SQLite prepare the statement anew in every run.
  const page = database.prepare(
    `SELECT position, bytes FROM log_entry JOIN log_stream USING (stream)
     WHERE name = ? AND position >= ? ORDER BY position LIMIT ? + 0`,
  );
  const remove = database.prepare(
    `DELETE FROM log_entry
     WHERE stream = (SELECT stream FROM log_stream WHERE name = ?) AND position BETWEEN ? AND ?`,
  );

  const append: SqliteEntries["append"] = (name, bytes, options = {}) => {
    checkAppend(name, bytes, options);
    const { dedupeId = null, expectedTail } = options;
    const row = streamByName.get(name);
    const tail = row === undefined ? 0 : (row["tail"] as number);
    if (row !== undefined && dedupeId !== null) {
      const known = byDedupeId.get(row["stream"] as number, dedupeId);
      if (known !== undefined) {
        const same = Buffer.compare(known["bytes"] as Uint8Array, bytes) === 0;
        return { kind: same ? "duplicate" : "dedupe_conflict", position: known["position"] as number };
      }
    }
    if (expectedTail !== undefined && expectedTail !== tail) return { kind: "position_conflict", tail };
    const stream = (row ?? createStream.get(name))?.["stream"] as number;
    const position = tail + 1;
    insert.run(stream, position, dedupeId, bytes);
    advance.run(position, stream);
    return { kind: "appended", position };
  };

  return {
    append,
    erase: (name, from, through) => {
      checkStream(name);
      checkPosition(from, 1);
      checkPosition(through, 1);
      remove.run(name, from, through);
    },
    tail: (name) => {
      checkStream(name);
      return (streamByName.get(name)?.["tail"] ?? 0) as number;
    },
    read: (name, from, limit) => {
      checkStream(name);
      checkPosition(from, 1);
      const entries: Array<Entry> = [];
      let size = 0;
      for (const row of page.iterate(name, from, limit)) {
        const bytes = row["bytes"] as Uint8Array;
        size += bytes.byteLength;
        if (entries.length > 0 && size > Limits.readBytesMax) break;
        entries.push({ position: row["position"] as number, bytes });
      }
      return entries;
    },
  };
};
