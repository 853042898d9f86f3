// The single writer. Inputs queue up and are worked through in order, many to one transaction, so that all of them share
// one fsync; nothing that a turn promises leaves before its commit. While another program holds the store locked they wait,
// and the process goes on. Knows no table and no input. Implements HIS-20, HIS-22, HIS-34 and RUN-114.

import { type Database, gaveUp, isStoreFailure } from "./Database.ts";
import { isLocked } from "./StoreFault.ts";

/**
 * Where a piece of work runs: inside the transaction, with the turn's working state. The state is an immutable value that
 * work replaces, so that undoing one piece of work is putting the earlier value back.
 */
export interface Turn<State> {
  readonly db: Database;
  /** Epoch milliseconds, one value for the whole turn. */
  readonly now: number;
  state: State;
}

/** What takes part in every turn: its working state is flushed before the commit and published after it. */
export interface Participant<State> {
  readonly initial: State;
  readonly flush: (turn: Turn<State>) => void;
  readonly committed: (turn: Turn<State>) => void;
}

export type Pace = "now" | "soon";

export interface Turns<State> {
  /**
   * Queues work and resolves with its result after the commit. Work that throws is undone alone and rejects. Work that
   * nobody waits for may come `soon`: with the next turn, or a moment later in one of its own.
   */
  readonly run: <A>(work: (turn: Turn<State>) => A, pace?: Pace) => Promise<A>;
  /** Resolves when everything queued so far has been committed; refuses further work. */
  readonly close: () => Promise<void>;
}

interface Entry<State> {
  readonly work: (turn: Turn<State>) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * How long work that nobody waits for may wait to share another turn's fsync. In a burst it finds one at once; between two
 * agents who answer one another it should be over before the answer comes, which would wait for it.
 */
const soonMs = 2;

/** Between two looks at a store that another program holds locked; each look stops the process for a moment. */
const lockedLookMs = 250;

/** How long work waits for such a lock: longer than a backup takes it, shorter than a host waits for a tool. */
export const lockedMsMax = 15_000;
/** And once the endpoint is to stop, which must be over within five seconds. */
export const lockedClosingMsMax = 1_500;

/** Work of one commit: enough to share an fsync among, few enough to answer the first soon. */
const turnEntriesMax = 128;

export const create = <State>(
  db: Database,
  clock: () => number,
  participant: Participant<State>,
): Turns<State> => {
  const queue: Array<Entry<State>> = [];
  /** `locked`: the next turn looks whether a foreign lock is gone. */
  let scheduled: Pace | "locked" | null = null;
  /** Looks at the present foreign lock so far; counted, because a clock may be set meanwhile. */
  let lockedLooks = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let drained: (() => void) | null = null;

  const runEntry = (entry: Entry<State>, turn: Turn<State>): (() => void) => {
    const before = turn.state;
    try {
      const result = db.transaction(() => entry.work(turn)) as never;
      return () => entry.resolve(result);
    } catch (error) {
      turn.state = before;
      return () => entry.reject(error);
    }
  };

  /** Whether the entries of a turn that met a foreign lock are to wait for it: they have not begun. */
  const mayWait = (): boolean => {
    lockedLooks++;
    return lockedLooks * lockedLookMs < (closed ? lockedClosingMsMax : lockedMsMax);
  };

  const runTurn = (): void => {
    scheduled = null;
    clearTimeout(timer);
    const entries = queue.splice(0, turnEntriesMax);
    const turn: Turn<State> = { db, now: clock(), state: participant.initial };
    const settlements = commit(entries, turn);
    if (settlements === "locked") {
      queue.unshift(...entries);
      scheduled = "locked";
      timer = setTimeout(runTurn, lockedLookMs);
      return;
    }
    if (settlements !== null) publish(turn, settlements);
    if (queue.length > 0) schedule("now");
    else drained?.();
  };

  /** What is committed is answered, also when the store fails in a look at what comes next. */
  const publish = (turn: Turn<State>, settlements: ReadonlyArray<() => void>): void => {
    try {
      participant.committed(turn);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
    } finally {
      for (const settle of settlements) settle();
    }
  };

  /**
   * One transaction for all entries. `locked` when it could not begin and may yet; null when there was none: then every
   * entry has been rejected.
   */
  const commit = (
    entries: ReadonlyArray<Entry<State>>,
    turn: Turn<State>,
  ): ReadonlyArray<() => void> | "locked" | null => {
    let begun = false;
    try {
      return db.transaction(() => {
        begun = true;
        lockedLooks = 0;
        const settled = entries.map((entry) => runEntry(entry, turn));
        // A full disk makes SQLite give up the whole transaction: without this, the flush would be written on its own.
        if (!db.inTransaction()) throw gaveUp();
        participant.flush(turn);
        return settled;
      });
    } catch (error) {
      if (!begun && isLocked(error) && mayWait()) return "locked";
      for (const entry of entries) entry.reject(error);
      return null;
    }
  };

  const schedule = (pace: Pace): void => {
    if (scheduled === "now" || scheduled === "locked" || scheduled === pace) return;
    scheduled = pace;
    if (pace === "now") setImmediate(runTurn);
    else timer = setTimeout(runTurn, soonMs);
  };

  return {
    run: (work, pace = "now") =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error("the store is closing"));
        queue.push({ work, resolve: resolve as (value: never) => void, reject });
        schedule(pace);
      }),
    close: () =>
      new Promise((resolve) => {
        closed = true;
        if (queue.length === 0) return resolve();
        drained = resolve;
        schedule("now");
      }),
  };
};
