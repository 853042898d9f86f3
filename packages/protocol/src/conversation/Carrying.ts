// The record that an accepted anchor carries goes first: carry votes under the new anchor, with a quorum of them durability
// votes, and all of it again when nobody moves. Its action certificate stays the old one. Implements HIS-77.

import { carryVoteOf, durabilityVoteOf, type VoteSubject } from "../history/VerifyRecord.ts";
import { isActionCertified } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import { maySign, multicastVotes, signCarry, signDurability } from "./OwnVotes.ts";
import { isCarrying, type OpenRecord, subjectOf } from "./State.ts";

/** The carried record, while it is to be certified and held with its action certificate, and what votes name of it. */
const carriedOf = (draft: Draft): { readonly record: OpenRecord; readonly subject: VoteSubject } | null => {
  const { anchor } = draft.state;
  if (anchor === null || anchor.carried === null || !isCarrying(draft.state)) return null;
  const record = draft.find(anchor.carried);
  if (record === undefined || !isActionCertified(draft, record)) return null;
  const subject = subjectOf(record, draft.inputs.members.conversationId);
  return { record, subject: { ...subject, anchorHash: anchor.anchorHash } };
};

/** Whether the carried record has its durability certificate under the anchor that carries it. */
export const isCarriedDurably = ({ state, inputs }: Draft, record: OpenRecord): boolean =>
  isCarrying(state) &&
  record.recordHash === state.anchor?.carried &&
  Object.keys(state.carrying.durability).length >= inputs.members.quorum;

/** Casts the carry vote, and once a quorum carries, the durability vote. */
export const carry = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { anchor, slot } = state;
  const carried = carriedOf(draft);
  if (carried === null || anchor === null || !maySign(draft)) return false;
  const { record, subject } = carried;
  if (!slot.carryVote) {
    const vote = signCarry(draft, subject);
    state.slot = { ...slot, carryVote: true };
    state.carrying = {
      ...state.carrying,
      carry: { ...state.carrying.carry, [inputs.self]: vote.signature },
    };
    multicastVotes(draft, { carryVotes: [vote] });
    return true;
  }
  const votes = state.carrying.carry;
  if (slot.durabilityVote !== null || Object.keys(votes).length < inputs.members.quorum) return false;
  draft.replaceOpen({ ...record, carry: { anchorHash: anchor.anchorHash, round: anchor.round, votes } });
  const vote = signDurability(draft, subject);
  state.slot = { ...slot, durabilityVote: record.recordHash };
  state.carrying = {
    ...state.carrying,
    durability: { ...state.carrying.durability, [inputs.self]: vote.signature },
  };
  multicastVotes(draft, { durabilityVotes: [vote] });
  return true;
};

/** The own votes for the carried record once more. */
export const repeatCarrying = (draft: Draft): void => {
  const { self } = draft.inputs;
  const { carry: carries, durability } = draft.state.carrying;
  const carried = carriedOf(draft);
  const carryVote = carries[self];
  const durabilityVote = durability[self];
  if (carried === null || carryVote === undefined) return;
  const { subject } = carried;
  multicastVotes(draft, {
    carryVotes: [{ ...carryVoteOf(subject, self), signature: carryVote }],
    durabilityVotes:
      durabilityVote === undefined ? [] : [{ ...durabilityVoteOf(subject, self), signature: durabilityVote }],
  });
};
