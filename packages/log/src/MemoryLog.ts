// The memory engine, for the simulator and unit tests only: nothing survives the process. No timers and no waiting, so a
// simulated run over it is decided by its inputs alone.

import { checkAppend, checkPosition, checkStream, pageLimit } from "./Arguments.ts";
import type { AppendOptions, AppendResult, Entry, Log, Position, StreamName } from "./Log.ts";
import { LogError } from "./LogError.ts";
import * as Limits from "./Limits.ts";
import { subscription } from "./Subscription.ts";
import { makeWakeups } from "./Wakeups.ts";

interface Stream {
  /** Index is position - 1; null where erased. */
  readonly entries: Array<Uint8Array | null>;
  readonly positionOf: Map<string, Position>;
  readonly dedupeIdOf: Map<Position, string>;
}

const appendTo = (stream: Stream, bytes: Uint8Array, options: AppendOptions): AppendResult => {
  const tail = stream.entries.length;
  const { dedupeId, expectedTail } = options;
  const known = dedupeId === undefined ? undefined : stream.positionOf.get(dedupeId);
  if (known !== undefined) {
    const same = Buffer.compare(stream.entries[known - 1] as Uint8Array, bytes) === 0;
    return { kind: same ? "duplicate" : "dedupe_conflict", position: known };
  }
  if (expectedTail !== undefined && expectedTail !== tail) return { kind: "position_conflict", tail };
  const position = stream.entries.push(Uint8Array.from(bytes));
  if (dedupeId !== undefined) {
    stream.positionOf.set(dedupeId, position);
    stream.dedupeIdOf.set(position, dedupeId);
  }
  return { kind: "appended", position };
};

const pageOf = (stream: Stream, from: Position, limit: number): ReadonlyArray<Entry> => {
  const page: Array<Entry> = [];
  let size = 0;
  for (let position = from; position <= stream.entries.length && page.length < limit; position++) {
    const bytes = stream.entries[position - 1];
    if (bytes === null || bytes === undefined) continue;
    size += bytes.byteLength;
    if (page.length > 0 && size > Limits.readBytesMax) break;
    page.push({ position, bytes });
  }
  return page;
};

const eraseFrom = (stream: Stream, from: Position, through: Position): void => {
  for (let position = from; position <= Math.min(through, stream.entries.length); position++) {
    stream.entries[position - 1] = null;
    const id = stream.dedupeIdOf.get(position);
    if (id === undefined) continue;
    stream.dedupeIdOf.delete(position);
    stream.positionOf.delete(id);
  }
};

export const openMemoryLog = (): Log => {
  const streams = new Map<StreamName, Stream>();
  const wakeups = makeWakeups();
  let closed = false;

  const streamOf = (name: StreamName): Stream => {
    if (closed) throw new LogError("closed", "the log is closed");
    checkStream(name);
    let stream = streams.get(name);
    if (stream === undefined) {
      stream = { entries: [], positionOf: new Map(), dedupeIdOf: new Map() };
      streams.set(name, stream);
    }
    return stream;
  };

  const read: Log["read"] = async (name, from, limit) => {
    checkPosition(from, 1);
    return pageOf(streamOf(name), from, pageLimit(limit));
  };

  return {
    append: async (name, bytes, options = {}) => {
      checkAppend(name, bytes, options);
      const result = appendTo(streamOf(name), bytes, options);
      if (result.kind === "appended") wakeups.notify();
      return result;
    },
    read,
    tail: async (name) => streamOf(name).entries.length,
    subscribe: (name, from, signal) => subscription(read, wakeups, name, from, signal),
    erase: async (name, from, through) => {
      checkPosition(from, 1);
      checkPosition(through, 1);
      eraseFrom(streamOf(name), from, through);
    },
    close: async () => {
      closed = true;
      wakeups.notify();
    },
  };
};
