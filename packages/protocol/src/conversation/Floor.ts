// The highest round in which a member without memory may have signed something: it must not sign in it, or below, again.
// Implements HIS-161.

import { faultsOf, quorumOf } from "../history/Quorum.ts";
import * as Limits from "../Limits.ts";
import type { State } from "./State.ts";

/**
 * Null until enough others have said at which round they are, so many that one of them is honest and took part in whatever
 * this member signed. Fewer than four members are honest, all of them. Of more, this one counts among the f that are not, so
 * at most f - 1 others lie. An anchor takes the statements of q(n) members, so at least n - 2f honest others are past each
 * round that this member voted in, and of those that answered at least n - 2f less the ones that did not: of the answers
 * the one in that place, from the highest, is not below it, and a liar cannot raise it at will.
 */
export const floorOf = ({ restored }: Pick<State, "restored">, n: number): number | null => {
  if (restored === null) return null;
  const told = Object.values(restored.reports).sort((a, b) => b - a);
  if (told.length < (n < 4 ? n - 1 : quorumOf(n))) return null;
  const missing = n - 1 - told.length;
  const place = n < 4 ? 1 : n - 2 * faultsOf(n) - missing;
  return Math.max(told[place - 1] ?? 0, restored.round);
};

/**
 * Whether the floor is further ahead than members get without anchors. It stands all the same, because it may be true; but
 * below four members one of them can have said it by mistake, and is asked again.
 */
export const isDoubtful = (state: State, n: number): boolean => {
  const floor = floorOf(state, n);
  return floor !== null && state.restored !== null && isFarFrom(state, floor);
};

/** Whether what a member told is further ahead of what is known here than a word is believed. */
export const isFarFrom = ({ anchor, rounds, restored }: State, round: number): boolean =>
  round > Math.max(rounds.bound, anchor?.round ?? 0, restored?.round ?? 0) + Limits.roundsAheadMax;

/** Whether a member that lost its memory must sign nothing yet under the anchor that it has accepted. */
export const isMute = (state: State, n: number): boolean => {
  if (state.restored === null) return false;
  const floor = floorOf(state, n);
  return floor === null || (state.anchor?.round ?? 0) <= floor;
};
