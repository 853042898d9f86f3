// Units of work that arrive in one turn of the event loop share one transaction, hence one fsync. A unit that throws is
// rolled back alone; a commit that fails fails every unit of its group. Nothing settles before the commit. While another
// process holds the file the units wait and the thread goes on.

import type { DatabaseSync } from "node:sqlite";
import { LogError } from "./LogError.ts";
import * as Limits from "./Limits.ts";
import { faultOf, isLocked } from "./SqliteFault.ts";

/** Runs one unit inside the open transaction and says how to settle its promise once the group is on disk. */
interface Unit {
  readonly run: () => () => void;
  readonly reject: (cause: unknown) => void;
}

export interface GroupCommit {
  readonly enqueue: <T>(work: () => T) => Promise<T>;
  /** Commits what is queued, before it returns. */
  readonly drain: () => void;
}

export interface GroupCommitOptions {
  /** Called before each transaction; what it throws fails the group. */
  readonly demandPlace: () => void;
  /** Called after each commit, before the promises of its units settle. */
  readonly committed: () => void;
}

export const makeGroupCommit = (
  database: DatabaseSync,
  { demandPlace, committed }: GroupCommitOptions,
): GroupCommit => {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");
  const save = database.prepare("SAVEPOINT unit");
  const release = database.prepare("RELEASE unit");
  const undo = database.prepare("ROLLBACK TO unit");
  let queue: Array<Unit> = [];
  let scheduled = false;
  let timer: NodeJS.Timeout | undefined;
  let draining = false;
  /** Looks at the present foreign lock so far; counted, because a clock may be set meanwhile. */
  let looks = 0;

  const mayWait = (): boolean => !draining && ++looks * Limits.busyLookEveryMs < Limits.busyUnitsMsMax;

  /** False when another process holds the file and the group, which has not begun, may yet wait for it. */
  const runGroup = (group: ReadonlyArray<Unit>): boolean => {
    let settlements: ReadonlyArray<() => void>;
    let begun = false;
    try {
      demandPlace();
      begin.run();
      begun = true;
      looks = 0;
      settlements = group.map((unit) => unit.run());
      commit.run();
    } catch (cause) {
      if (!begun && isLocked(cause) && mayWait()) return false;
      if (database.isTransaction) rollback.run();
      const fault = faultOf(cause) ?? new LogError("unavailable", "the log could not commit", cause);
      for (const unit of group) unit.reject(fault);
      return true;
    }
    committed();
    for (const settle of settlements) settle();
    return true;
  };

  const flush = (): void => {
    scheduled = false;
    const group = queue.slice(0, Limits.groupUnitsMax);
    queue = queue.slice(Limits.groupUnitsMax);
    if (queue.length > 0) schedule();
    if (group.length === 0 || runGroup(group)) return;
    queue = [...group, ...queue];
    scheduled = true;
    timer = setTimeout(flush, Limits.busyLookEveryMs);
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  const enqueue = <T>(work: () => T): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): (() => void) => {
      save.run();
      try {
        const result = work();
        release.run();
        return () => resolve(result);
      } catch (cause) {
        // A full disk rolls the whole transaction back by itself: then the group is lost, not only this unit.
        if (!database.isTransaction) throw cause;
        undo.run();
        release.run();
        return () => reject(faultOf(cause) ?? cause);
      }
    };
    queue.push({ run, reject });
    schedule();
    return promise;
  };

  return {
    enqueue,
    drain: () => {
      draining = true;
      clearTimeout(timer);
      database.exec(`PRAGMA busy_timeout = ${Limits.busyMsMax}`);
      while (queue.length > 0) flush();
    },
  };
};
