// What time alone brings about: repeating own signed work, spreading a completed certificate, ending a courtesy, asking
// again, expiring intents. Implements HIS-40, HIS-42, HIS-59 and OPS-10.

import * as Limits from "../Limits.ts";
import { actionVoteOf } from "../history/VerifyRecord.ts";
import { askAnew, askNext } from "./Behind.ts";
import { repeatCarrying } from "./Carrying.ts";
import type { Draft } from "./Draft.ts";
import { endRest, rest } from "./Following.ts";
import { multicastVotes } from "./OwnVotes.ts";
import { expire, repeatWithdrawals } from "./Refusals.ts";
import { restoredTick } from "./Restored.ts";
import { repeatRound, stallTick } from "./Rounds.ts";
import { endCourtesy, multicastActionCertificate, multicastNotice, multicastProposal } from "./Settle.ts";
import { isCarrying, isVoting, subjectOf } from "./State.ts";

/** Time passed: courtesy and intents end, silence repeats own signed work, a certificate is spread, a stall is cause for a round. */
export const tick = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.yieldUntil !== null && state.yieldUntil <= inputs.now) endCourtesy(draft);
  endRest(draft);
  expireIntents(draft);
  if (state.silence !== null && state.silence.at <= inputs.now) repeatOwnWork(draft);
  if (state.spread !== null && state.spread.at <= inputs.now) spread(draft);
  stallTick(draft);
  restoredTick(draft);
  const askAt = state.behind?.askAt ?? null;
  if (askAt !== null && askAt <= inputs.now) askNext(draft);
};

/** After a restart every timer starts from its shortest interval. */
export const resume = (draft: Draft): void => {
  const { state, inputs } = draft;
  state.silence = null;
  state.rounds = { ...state.rounds, stall: null, heard: [], restsUntil: null };
  endCourtesy(draft);
  if (state.spread !== null) state.spread = { ...state.spread, at: inputs.now + Limits.spreadStepMs };
  askAnew(draft);
};

/**
 * Times further ahead than their interval come from a clock that has been set back since. They would hold their work for
 * as long as the clock was wrong, so they start anew.
 */
export const mendTimes = (draft: Draft): void => {
  const { state } = draft;
  const { now } = draft.inputs;
  const { silence, spread: due, behind, restored } = state;
  if (silence !== null && silence.at > now + silence.intervalMs) {
    state.silence = { ...silence, at: now + silence.intervalMs };
  }
  if (due !== null && due.at > now + Limits.spreadStepMs * Limits.membersMax) {
    state.spread = { ...due, at: now + Limits.spreadStepMs };
  }
  if (state.yieldUntil !== null && state.yieldUntil > now + Limits.yieldMs) endCourtesy(draft);
  const { stall, restsUntil } = state.rounds;
  if (stall !== null && stall.at > now + stall.intervalMs) {
    state.rounds = { ...state.rounds, stall: { ...stall, at: now + stall.intervalMs } };
  }
  if (restsUntil !== null && restsUntil > now + Limits.followMs) rest(draft);
  if (behind !== null && behind.askAt !== null && behind.askAt > now + behind.intervalMs) {
    state.behind = { ...behind, askAt: now + behind.intervalMs };
  }
  if (restored !== null && restored.askAt !== null && restored.askAt > now + restored.intervalMs) {
    state.restored = { ...restored, askAt: now + restored.intervalMs };
  }
};

/** Own proposal and votes once more, to everybody. A staged record's votes travel in its action certificate. */
const repeatOwnWork = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.silence === null || !inputs.folded) return;
  const intervalMs = Math.min(state.silence.intervalMs * 2, Limits.silenceMsMax);
  state.silence = { at: inputs.now + intervalMs, intervalMs };
  repeatRound(draft);
  if (!isVoting(state)) return;
  if (isCarrying(state)) return repeatCarrying(draft);
  multicastProposal(draft);
  repeatWithdrawals(draft);
  state.slot = { ...state.slot, relayed: false };
  const { actionVote, durabilityVote } = state.slot;
  const staged = durabilityVote === null ? undefined : draft.find(durabilityVote);
  if (staged !== undefined) return multicastActionCertificate(draft, staged);
  const voted = actionVote === null ? undefined : draft.find(actionVote);
  const signature = voted?.action[inputs.self];
  if (voted === undefined || signature === undefined) return;
  const vote = actionVoteOf(subjectOf(voted, inputs.members.conversationId), inputs.self);
  multicastVotes(draft, { actionVotes: [{ ...vote, signature }] });
};

const spread = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.spread === null) return;
  const { what, recordHash } = state.spread;
  state.spread = null;
  if (!inputs.folded) return;
  switch (what) {
    case "certified-notice":
      return multicastNotice(draft);
    case "action-certificate": {
      const record = draft.find(recordHash);
      if (record !== undefined && inputs.self in record.durability) multicastActionCertificate(draft, record);
      return;
    }
  }
};

const expireIntents = (draft: Draft): void => {
  const { inputs } = draft;
  const passedOver = new Set(draft.endedIntents);
  for (;;) {
    const next = inputs.reads.nextIntent(passedOver);
    if (next === null || next.createdAt + Limits.intentLifetimeMs > inputs.now) return;
    passedOver.add(next.intent.postId);
    expire(draft, next.intent.postId, next.createdAt + Limits.intentLifetimeMs);
  }
};
