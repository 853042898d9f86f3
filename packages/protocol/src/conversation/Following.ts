// How a member follows others from round to round: by a bounded step, once in a while, and only where something could come of
// it. A round costs every member a signed word to all, so nobody's wish may cost more than it says; who is really far behind
// is brought on by anchors, which prove themselves. Implements HIS-170, HIS-172 and HIS-173.

import type { AgentId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import type { Draft } from "./Draft.ts";
import { floorOf } from "./Floor.ts";
import { isUnderWay, reached } from "./State.ts";

/**
 * The latest round that another member's word alone stands for here. What it says beyond counts as said of this one: a member
 * that is honestly so far ahead goes on saying so, and is followed step by step. Who has lost its memory is bound by no wish,
 * so that its steps are its own wishes.
 */
export const horizonOf = ({ state, inputs }: Draft): number => {
  const { anchor, rounds, restored } = state;
  const own =
    restored === null ? rounds.bound : Math.max(reached(rounds), floorOf(state, inputs.members.n) ?? 0);
  return Math.max(own, anchor?.round ?? 0) + Limits.roundsAheadMax;
};

/** Whether this member may be moved by the rounds of others now. */
export const mayFollow = (draft: Draft): boolean => isRested(draft) && takesPart(draft);

const isRested = ({ state, inputs }: Draft): boolean =>
  state.rounds.restsUntil === null || state.rounds.restsUntil <= inputs.now;

/** Followed: what others say meanwhile is kept, and looked at when the time is over. */
export const rest = (draft: Draft): void =>
  draft.changeRounds({ restsUntil: draft.inputs.now + Limits.followMs });

/** The time is over. Whatever there is to follow is followed now. */
export const endRest = (draft: Draft): void => {
  if (isRested(draft)) draft.changeRounds({ restsUntil: null });
};

/**
 * Whether a round has a use here. Before the first record is certified it has one only while somebody is at work whom this
 * member lets begin: an opening of anybody else is refused in every round. Who has lost its memory cannot know.
 */
export const takesPart = ({ state, inputs, endedIntents }: Draft): boolean => {
  if (state.head !== null || state.restored !== null || isUnderWay(state)) return true;
  const { self, admits, reads } = inputs;
  const { bound, wishes } = state.rounds;
  const mayBegin = (id: AgentId): boolean => id === self || admits(id);
  return (
    state.open.some(({ author, action }) => self in action || mayBegin(author)) ||
    inputs.members.ids.some((id) => id !== self && (wishes[id] ?? 0) > bound && admits(id)) ||
    reads.nextIntent(endedIntents) !== null
  );
};
