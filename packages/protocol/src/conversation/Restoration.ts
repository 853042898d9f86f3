// What a member that lost its memory keeps until it has recovered: when that was found, and where the others say they are; and
// what it keeps from then on, to know a vote of before again.

import type { AgentId, RecordHash } from "../identity/Identifier.ts";

/** This member's memory was found to be older than what it signed. Until it recovers it signs nothing at or below a floor. */
export interface Restored {
  /** Own intents persisted until then may have been proposed. */
  readonly at: number;
  /** The highest round that the old disk itself knew. */
  readonly round: number;
  /**
   * The hash of no record, which questions ask about and whole answers repeat: an answer to a question of before the memory
   * was lost, which the Router may still hold, says nothing about where its sender is now.
   */
  readonly question: RecordHash;
  /** The rounds that others say they are at, and those that they stated in the answers that are still coming. */
  readonly reports: { readonly [member: AgentId]: number };
  readonly stated: { readonly [member: AgentId]: number };
  /** When those who have not answered are asked again; null while not connected. */
  readonly askAt: number | null;
  readonly intervalMs: number;
  /** Records with an own vote that the disk does not hold, under anchors that are not here: nobody can say of which round. */
  readonly shown: ReadonlyArray<RecordHash>;
}

/**
 * The last loss of memory that this member has recovered from. What it forgot then it had signed at or below the floor, and
 * since then it signs above that: so a forgotten vote says by its round whether it is of that loss or of a new one.
 */
export interface Recovered {
  readonly floor: number;
  /** As in `Restored`: the floor is above these as well. */
  readonly shown: ReadonlyArray<RecordHash>;
}
