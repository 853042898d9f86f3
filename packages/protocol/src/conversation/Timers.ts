// What time alone brings about: repeating own signed work, spreading a completed certificate, ending a courtesy, asking
// again, expiring intents that were never proposed. Implements HIS-40, HIS-42 and OPS-10.

import * as Limits from "../Limits.ts";
import { actionVoteOf, durabilityVoteOf } from "../history/VerifyRecord.ts";
import { askNext } from "./CatchUp.ts";
import type { Draft } from "./Draft.ts";
import {
  isActionCertified,
  multicastActionCertificate,
  multicastNotice,
  multicastProposal,
} from "./Settle.ts";
import { subjectOf } from "./State.ts";

export const tick = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.yieldUntil !== null && state.yieldUntil <= inputs.now) state.yieldUntil = null;
  expireIntents(draft);
  if (state.silence !== null && state.silence.at <= inputs.now) repeatOwnWork(draft);
  if (state.spread !== null && state.spread.at <= inputs.now) spread(draft);
  if (state.behind !== null && state.behind.askAt <= inputs.now) {
    const intervalMs = Math.min(state.behind.intervalMs * 2, Limits.catchUpMsMax);
    state.behind = { ...state.behind, askAt: inputs.now + state.behind.intervalMs, intervalMs };
    askNext(draft);
  }
};

/** After a restart every timer starts from its shortest interval. */
export const resume = (draft: Draft): void => {
  const { state, inputs } = draft;
  state.silence = null;
  state.yieldUntil = null;
  if (state.spread !== null) state.spread = { ...state.spread, at: inputs.now + Limits.spreadStepMs };
  if (state.behind !== null) {
    state.behind = { ...state.behind, askAt: inputs.now, intervalMs: Limits.catchUpMsMin, answered: [] };
  }
};

const repeatOwnWork = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.silence === null) return;
  const intervalMs = Math.min(state.silence.intervalMs * 2, Limits.silenceMsMax);
  state.silence = { at: inputs.now + intervalMs, intervalMs };
  if (!inputs.folded) return;
  multicastProposal(draft);
  const staged = state.slot.durabilityVote === null ? undefined : draft.find(state.slot.durabilityVote);
  if (staged !== undefined && isActionCertified(draft, staged)) multicastActionCertificate(draft, staged);
  multicastOwnVotes(draft);
};

const multicastOwnVotes = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { conversationId } = inputs.members;
  const voted = state.slot.actionVote === null ? undefined : draft.find(state.slot.actionVote);
  const staged = state.slot.durabilityVote === null ? undefined : draft.find(state.slot.durabilityVote);
  const action = voted?.action[inputs.self];
  const durability = staged?.durability[inputs.self];
  if (action === undefined && durability === undefined) return;
  draft.multicast({
    kind: "vote_packet",
    actionVotes:
      voted === undefined || action === undefined
        ? []
        : [{ ...actionVoteOf(subjectOf(voted, conversationId), inputs.self), signature: action }],
    durabilityVotes:
      staged === undefined || durability === undefined
        ? []
        : [{ ...durabilityVoteOf(subjectOf(staged, conversationId), inputs.self), signature: durability }],
    carryVotes: [],
  });
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

/** Only an intent that no one has seen can end by time alone: a proposed one may yet be certified. */
const expireIntents = (draft: Draft): void => {
  const { state, inputs } = draft;
  const passOver = new Set(draft.endedIntents);
  if (state.everProposed !== null) passOver.add(state.everProposed);
  for (;;) {
    const next = inputs.reads.nextIntent(passOver);
    if (next === null || next.createdAt + Limits.intentLifetimeMs > inputs.now) return;
    const { postId } = next.intent;
    passOver.add(postId);
    draft.endedIntents.add(postId);
    draft.commands.push({ kind: "intent-ended", postId, outcome: "outcome-unknown" });
  }
};
