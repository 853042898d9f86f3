// The start-up checkpoint: up to which record the signatures need not be verified at the next start, because this process did so
// on their arrival. It moves in steps, so that most turns write nothing for it.

import type { Database } from "./Database.ts";
import * as Settings from "./Settings.ts";

/** After a kill, the signatures of fewer records than this are verified once more. */
const stepRecords = 256;

export interface Checkpoint {
  /** Counts the records of a turn, in its transaction, and moves over them once they are many. */
  readonly count: (records: number) => void;
  /** What was counted last is committed. */
  readonly committed: () => void;
  /** Moves over everything, in the caller's transaction. */
  readonly settle: () => void;
}

export const createCheckpoint = (db: Database): Checkpoint => {
  const last = (): number => Number(db.get("SELECT max(sequence) AS last FROM record")?.["last"] ?? 0);
  const move = (): void => Settings.put(db, "verified_sequence", last());
  let passed = last() - Settings.integer(db, "verified_sequence");
  let passedInTurn = passed;
  return {
    count: (records) => {
      passedInTurn = passed + records;
      if (passedInTurn < stepRecords) return;
      move();
      passedInTurn = 0;
    },
    committed: () => {
      passed = passedInTurn;
    },
    settle: () => {
      if (passed > 0) move();
    },
  };
};
