// When a round changes: the causes that this member finds or is told of, what the rounds of others ask of it, and time.
// What a round is made of stands in Wishes, Statements, Leadership and Acceptance. Implements HIS-71, HIS-72, HIS-85, HIS-86,
// HIS-89 and HIS-90.

import { faultsOf } from "../history/Quorum.ts";
import * as Limits from "../Limits.ts";
import { fallBehind } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { AgentId } from "../identity/Identifier.ts";
import { askForPending, askForStated } from "./Lacking.ts";
import { mayFollow, rest, takesPart } from "./Following.ts";
import { completeAsLeader } from "./Leadership.ts";
import { floorOf } from "./Floor.ts";
import { areLeft, isApart } from "./LeftBehind.ts";
import { hasCandidate, isUnderWay, reached } from "./State.ts";
import { bind } from "./Statements.ts";
import { repeatWish, sayHere, wishFor } from "./Wishes.ts";

/** The k-th highest of some rounds, counted from 0, or -1 when there are too few. */
const ranked = (rounds: ReadonlyArray<number>, k: number): number =>
  [...rounds].sort((a, b) => b - a)[k] ?? -1;

/**
 * What the rounds that others are at ask of this member: with f + 1 others wishing it wishes too; with q(n) wishing, or
 * f + 1 others bound by proven statements, it binds itself. Another Router instance is cause by itself.
 */
export const changeRounds = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { rounds } = state;
  const { n, quorum } = inputs.members;
  const f = faultsOf(n);
  if (!inputs.folded) return false;
  const others = Object.entries(rounds.wishes).filter(([id]) => id !== inputs.self);
  const stated = Object.entries(rounds.stated).filter(([id]) => id !== inputs.self);
  const wished = others.map(([, round]) => round);
  const quorumAt = ranked([...wished, reached(rounds)], quorum - 1);
  const statedAt = ranked(
    stated.map(([, round]) => round),
    f,
  );
  // Who lost its memory may have stated rounds that it does not remember: it follows the statements of others, above its floor.
  const floor = state.restored === null ? rounds.bound : (floorOf(state, n) ?? Infinity);
  const bindingRound = state.restored === null ? Math.max(quorumAt, statedAt) : statedAt;
  const isBinding = bindingRound > Math.max(rounds.bound, floor);
  const joined = ranked(wished, f);
  if ((isBinding || joined > reached(rounds)) && mayFollow(draft)) {
    // The first wish above the bound is free: the statement for it may follow at once.
    if (isBinding || rounds.wish > rounds.bound) rest(draft);
    return isBinding ? bind(draft, bindingRound) : wishFor(draft, joined);
  }
  if (isOfAnotherRouter(draft)) return wishFor(draft, rounds.bound + 1) || completeAsLeader(draft);
  return completeAsLeader(draft);
};

/** Whether the round that binds this member names another Router instance than the one it is connected to. */
const isOfAnotherRouter = ({ state: { anchor, rounds }, inputs: { routerInstanceId } }: Draft): boolean => {
  const named =
    rounds.bound > (anchor?.round ?? 0) ? rounds.own?.statement.routerInstanceId : anchor?.routerInstanceId;
  return named !== undefined && named !== routerInstanceId;
};

/** Long without progress: another round is wished for when a quorum was heard, so that it can be had. */
export const stallTick = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { stall, heard, bound, wishes } = state.rounds;
  if (stall === null || stall.at > inputs.now) return;
  const intervalMs = Math.min(stall.intervalMs * 2, Limits.roundMsMax);
  const { n, quorum } = inputs.members;
  const changing = bound > (state.anchor?.round ?? 0);
  const there =
    Object.entries(wishes).filter(([id, round]) => id !== inputs.self && round >= bound).length + 1;
  const cause = changing ? there >= quorum : heard.length + 1 >= quorum;
  draft.changeRounds({ heard: [], stall: { at: inputs.now + intervalMs, intervalMs } });
  if (!takesPart(draft)) return lapse(draft);
  if (isUnderWay(state) || hasCandidate(state) || isOfAnotherRouter(draft) || state.restored !== null) {
    if (cause) wishFor(draft, bound + 1);
    else if (!isUnderWay(state)) sayHere(draft);
    // Who still misses others shows its vote again.
    if (stall.intervalMs >= Limits.roundMsMax) draft.changeRounds({ called: false });
    return;
  }
  // Where all is quiet nobody is heard but the one that is left behind: it is helped without waiting for others. One that is
  // not joined for so long has gone, or never meant it; if it is there, it states its round again.
  if (areLeft(state, n) && stall.intervalMs < Limits.roundMsMax) wishFor(draft, bound + 1);
  else lapse(draft);
};

/** With nothing under way and nobody left behind, a wish has lost its cause, and so have those of others. */
const lapse = (draft: Draft): void => {
  const { stated, bound } = draft.state.rounds;
  const known = Object.fromEntries(
    Object.entries(stated).map(([signer, round]) => [signer, Math.min(round, bound)]),
  );
  draft.changeRounds({ wish: 0, wishes: known, stated: known, restated: {}, stall: null });
  draft.keepOpen((record) => !isApart(draft.state, record, draft.inputs.members.n));
};

/** What silence repeats of a round that is being changed. */
export const repeatRound = (draft: Draft): void => {
  const { state } = draft;
  const { rounds } = state;
  repeatWish(draft);
  if (rounds.own !== null && rounds.bound > (state.anchor?.round ?? 0)) draft.multicast(rounds.own);
  if (rounds.pending !== null && rounds.completed === rounds.pending.body.round)
    draft.multicast(rounds.pending);
  for (const packet of rounds.statements) askForStated(draft, packet);
  // The anchor that ends the wait may have been missed, and its leader gone: whoever has accepted it can show it.
  if (reached(rounds) > (state.anchor?.round ?? 0)) fallBehind(draft, { gap: true }, null);
  askForPending(draft);
};

/** Members are heard whatever they send. */
export const hear = (draft: Draft, from: AgentId): void => {
  const { rounds } = draft.state;
  if (from === draft.inputs.self || rounds.stall === null || rounds.heard.includes(from)) return;
  draft.changeRounds({ heard: [...rounds.heard, from] });
};
