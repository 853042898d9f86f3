// The Log port: named streams of byte entries, the only durable thing that a network service writes. Registry and Router
// fold their state from it. It knows no entry's meaning, reads no clock and draws no random number: what an entry needs
// of either (a time of acceptance, a log id) stands in its bytes. Implements RTR-60 to RTR-67.
//
// Every rule here is one that NATS JetStream can keep too: a stream sequence is the position, an expected position is
// `Nats-Expected-Last-Sequence`, a dedupe id is `Nats-Msg-Id` (and is looked at first, as there), erasing is deleting
// messages. A service that must change tables of its own together with an entry uses `SqliteLog.transact`.

/** Lower-case words joined by hyphens, 1..64 characters: a valid stream name on every engine. Others are `invalid`. */
export type StreamName = string;

/** A place in a stream: 1, 2, 3, ... without gaps, never given twice. 0 is the tail of an empty stream. */
export type Position = number;

export interface Entry {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

export interface AppendOptions {
  /** Append only when the stream's tail is exactly this position (0: only as the very first entry). */
  readonly expectedTail?: Position;
  /**
   * 1..128 UTF-8 bytes. An id that a kept entry of this stream already has appends nothing. An engine remembers an id at
   * least until its entry is erased or for `dedupeSecondsMin`, whichever ends first; who needs longer folds its own rows.
   */
  readonly dedupeId?: string;
}

/** Repeats and lost races are results, not errors. The dedupe id is judged before the expected position. */
export type AppendResult =
  | { readonly kind: "appended"; readonly position: Position }
  /** The dedupe id is known with these same bytes: the position they got then. */
  | { readonly kind: "duplicate"; readonly position: Position }
  /** The dedupe id is known with other bytes, at this position. */
  | { readonly kind: "dedupe_conflict"; readonly position: Position }
  /** The tail is not the expected one. */
  | { readonly kind: "position_conflict"; readonly tail: Position };

/** Every method rejects with `LogError` and nothing else. */
export interface Log {
  /** Resolves only when the entry is durable on the engine's terms. `bytes` must not be changed until then. */
  readonly append: (stream: StreamName, bytes: Uint8Array, options?: AppendOptions) => Promise<AppendResult>;
  /**
   * The kept entries at positions >= `from` in increasing order: one page, bounded by `limit` entries (default and
   * maximum `readEntriesMax`) and `readBytesMax` bytes but at least one entry. Empty exactly when there is none.
   */
  readonly read: (stream: StreamName, from: Position, limit?: number) => Promise<ReadonlyArray<Entry>>;
  /**
   * The position of the last entry ever appended, erased or not; 0 for a stream that has none. Rejects also where the engine
   * knows that it could append nothing now.
   */
  readonly tail: (stream: StreamName) => Promise<Position>;
  /**
   * Every kept entry at positions >= `from`, once, in order: those that exist and then those to come. Ends when
   * `signal` aborts; fails with `closed` when the log is closed. A slow consumer holds one page of memory.
   */
  readonly subscribe: (stream: StreamName, from: Position, signal?: AbortSignal) => AsyncIterable<Entry>;
  /** Deletes the entries at `from`..`through`, with their dedupe ids. Positions stay used; reads pass over them. */
  readonly erase: (stream: StreamName, from: Position, through: Position) => Promise<void>;
  /** Commits what was appended before, then refuses everything with `closed`. Safe to repeat. */
  readonly close: () => Promise<void>;
}
