// Every vote that this member signs, and whether it may sign one now. A signature leaves this file together with the row
// that is the last defence against a conflicting one. Knows no rule about which record is voted for. Implements HIS-72.

import * as Statement from "../history/Statement.ts";
import { actionVoteOf, carryVoteOf, durabilityVoteOf, type VoteSubject } from "../history/VerifyRecord.ts";
import type { Ed25519Signature } from "../identity/Identifier.ts";
import type { Draft } from "./Draft.ts";
import { floorOf, isMute } from "./Floor.ts";
import type { PacketOf, SignedActionVote, SignedCarryVote, SignedDurabilityVote } from "./Packet.ts";
import { isVoting } from "./State.ts";

/**
 * Only who is connected and has folded the lane signs, only under an anchor that names the Router it is bound to, and only
 * while no later round binds it.
 */
export const maySign = (draft: Draft): boolean =>
  isPresent(draft) && !isMute(draft.state, draft.inputs.members.n);

const isPresent = ({ state, inputs }: Draft): boolean =>
  inputs.folded &&
  inputs.routerInstanceId !== null &&
  isVoting(state) &&
  (state.anchor === null || state.anchor.routerInstanceId === inputs.routerInstanceId);

/**
 * A proposal among more than three is no vote. A member that lost its memory makes it, although it cannot vote for it: that
 * nothing comes of it is cause for the others to begin the round in which it takes part again.
 */
export const mayPropose = (draft: Draft): boolean => {
  const { n } = draft.inputs.members;
  return maySign(draft) || (isPresent(draft) && n > 3 && floorOf(draft.state, n) !== null);
};

type VoteKind = "action" | "durability" | "carry";
type VoteStatement = Statement.ActionVote | Statement.DurabilityVote | Statement.CarryVote;

const sign = <S extends VoteStatement>(
  draft: Draft,
  vote: VoteKind,
  statement: S,
  inProposal = false,
): S & { readonly signature: Ed25519Signature } => {
  const { height, recordHash, anchorHash } = statement;
  const round = draft.state.anchor?.round ?? 0;
  const signature = Statement.sign(draft.inputs.signer, statement);
  draft.commands.push({
    kind: "own-vote",
    vote,
    height,
    round,
    recordHash,
    anchorHash,
    inProposal,
    signature,
  });
  return { ...statement, signature };
};

/** `inProposal`: the author's vote inside its proposal to one other member, which is not a lock vote. */
export const signAction = (draft: Draft, subject: VoteSubject, inProposal: boolean): SignedActionVote =>
  sign(draft, "action", actionVoteOf(subject, draft.inputs.self), inProposal);

export const signDurability = (draft: Draft, subject: VoteSubject): SignedDurabilityVote =>
  sign(draft, "durability", durabilityVoteOf(subject, draft.inputs.self));

export const signCarry = (draft: Draft, subject: VoteSubject): SignedCarryVote =>
  sign(draft, "carry", carryVoteOf(subject, draft.inputs.self));

export const multicastVotes = (draft: Draft, votes: Partial<Omit<PacketOf<"vote_packet">, "kind">>): void =>
  draft.multicast({ kind: "vote_packet", actionVotes: [], durabilityVotes: [], carryVotes: [], ...votes });
