// Chains that changed their round, by every way in which a record can come to stand under a later one: as the first of its
// round, carried from the round before, carried twice, and as a GENESIS.

import type { CompletedReanchor, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type * as Conversations from "./Conversations.ts";
import * as Rounds from "./Rounds.ts";

export interface Changed {
  readonly records: ReadonlyArray<HistoryRecord>;
  /** The re-anchors that its records stand under, by their rounds. */
  readonly anchors: { readonly [round: number]: CompletedReanchor };
}

/** Two records in round 0, one in round 2, one carried to round 3, one there, one carried to rounds 4 and 5, one there. */
export const changing = (cast: Conversations.Cast): Changed => {
  const first = Rounds.recordUnder(cast, cast.anchor, null);
  const second = Rounds.recordUnder(cast, cast.anchor, first);
  // Members end a round at different heights; what one of them had only prepared may be certified by now.
  const round2 = Rounds.completed(
    cast,
    2,
    Rounds.statementsOf(cast, 2, [
      { head: Rounds.headAt(second), prepared: null },
      { head: Rounds.headAt(first), prepared: Rounds.preparedAt(second, 0) },
    ]),
    second,
  );
  const third = Rounds.recordUnder(cast, round2, second);
  const fourthCore = Rounds.coreUnder(cast, round2, third);
  const fourthPrepared = Rounds.certified(cast, fourthCore, round2);
  const round3 = Rounds.completed(
    cast,
    3,
    Rounds.statementsOf(cast, 3, [
      { head: Rounds.headAt(third), prepared: Rounds.preparedAt(fourthPrepared, 2) },
      { head: Rounds.headAt(third), prepared: null },
    ]),
    third,
  );
  const fourth = Rounds.certified(cast, fourthCore, round2, round3);
  const fifth = Rounds.recordUnder(cast, round3, fourth);
  const sixthCore = Rounds.coreUnder(cast, round3, fifth);
  const sixthPrepared = Rounds.certified(cast, sixthCore, round3);
  const round4 = Rounds.begun(cast, 4, fifth, Rounds.preparedAt(sixthPrepared, 3));
  const round5 = Rounds.completed(
    cast,
    5,
    Rounds.statementsOf(cast, 5, [
      { head: Rounds.headAt(fifth), prepared: Rounds.preparedAt(sixthPrepared, 4) },
      { head: Rounds.headAt(fifth), prepared: Rounds.preparedAt(sixthPrepared, 3) },
    ]),
    fifth,
  );
  const sixth = Rounds.certified(cast, sixthCore, round3, round5);
  const seventh = Rounds.recordUnder(cast, round5, sixth);
  return {
    records: [first, second, third, fourth, fifth, sixth, seventh],
    anchors: { 2: round2, 3: round3, 4: round4, 5: round5 },
  };
};

/** A GENESIS that the members found nothing of in round 0, and a record above it in the same later round. */
export const openedLater = (cast: Conversations.Cast): Changed => {
  const round1 = Rounds.begun(cast, 1, null);
  const genesis = Rounds.recordUnder(cast, round1, null);
  return { records: [genesis, Rounds.recordUnder(cast, round1, genesis)], anchors: { 1: round1 } };
};

/** A GENESIS of round 1 that round 2 carries, and a record above it in round 2. */
export const openedCarried = (cast: Conversations.Cast): Changed => {
  const round1 = Rounds.begun(cast, 1, null);
  const core = Rounds.coreUnder(cast, round1, null);
  const prepared = Rounds.certified(cast, core, round1);
  const round2 = Rounds.completed(
    cast,
    2,
    Rounds.statementsOf(cast, 2, [{ head: null, prepared: Rounds.preparedAt(prepared, 1) }, Rounds.nothing]),
    null,
  );
  const genesis = Rounds.certified(cast, core, round1, round2);
  return {
    records: [genesis, Rounds.recordUnder(cast, round2, genesis)],
    anchors: { 1: round1, 2: round2 },
  };
};
