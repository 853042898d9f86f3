// Judging proposals as the lane brings them: believed or dropped, kept when their time may come, never more than a few of
// one author. Implements HIS-21, HIS-24 and HIS-35.

import * as Record from "../history/Record.ts";
import * as Statement from "../history/Statement.ts";
import { actionVoteOf } from "../history/VerifyRecord.ts";
import * as Limits from "../Limits.ts";
import { lackPredecessor, withKeptEvidence } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import { isUnheard, isVoid, repeatRefusal, repeatVoid } from "./Refusals.ts";
import type { OpenRecord, SignerMap } from "./State.ts";
import { nextHeight, openRecordOf, subjectOf } from "./State.ts";

/** Kept, with its place in the lane, when everything about it is true; judged when its predecessor is the head. */
export const takeProposal = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"proposal_packet">,
): void => {
  const { state, inputs } = draft;
  const { recordCore: core, authorSignature } = packet;
  if (laneSequence === null) return draft.note("a proposal came outside the lane");
  const author = core.action.authorAgentId;
  if (core.action.height < nextHeight(state)) return author === from ? noteLoser(draft, core) : undefined;
  const recordHash = Record.recordHashOf(core);
  // Its author has not heard of all that was refused.
  if (isVoid(draft, recordHash)) return author === from ? repeatVoid(draft, recordHash) : undefined;
  const known = draft.find(recordHash);
  if (author !== from && known !== undefined) return passedOn(draft, known, from, laneSequence);
  // Repeated: the first place in the lane is the one that counts.
  if (known !== undefined && known.laneSequence !== null) return repeatRefusal(draft, known);
  // The own proposal as the lane returns it.
  if (known?.authorSignature === authorSignature) return draft.replaceOpen({ ...known, laneSequence });
  if (known === undefined && isUnheard(draft, author)) return leaveUnheard(draft, core);
  const problem = known === undefined ? problemOf(draft, recordHash, core) : null;
  if (problem !== null) return draft.note(problem);
  const card = inputs.members.cardOf(author);
  const proposal = { kind: "proposal" as const, authorAgentId: author, actionHash: core.actionHash };
  if (
    card === undefined ||
    !Statement.verify(inputs.trust.verifier, card.signingKey, proposal, authorSignature)
  ) {
    return draft.note("a proposal's signature does not verify");
  }
  const place = author === from ? { laneSequence } : { laneSequence: null, relays: { [from]: laneSequence } };
  const record = {
    ...openRecordOf(recordHash, core, inputs.routerInstanceId, { authorSignature, laneSequence: null }),
    ...place,
  };
  const action = authorVoteOf(draft, record, packet.actionVote);
  if (action === null)
    return draft.note("a proposal's own action vote is missing, superfluous or does not verify");
  if (known === undefined) draft.addOpen(withKeptEvidence(draft, { ...record, action }), core);
  else
    // Fetched before, and perhaps prepared anew by a later round since: of all that only its place in the lane was lacking.
    draft.replaceOpen({
      ...known,
      authorSignature,
      laneSequence,
      isFirst: record.isFirst,
      action: { ...action, ...known.action },
    });
  lackPredecessor(draft, record, from);
};

/**
 * Too much of its author came to nothing to hear more of it in this round, which is work that this member cannot see; of who may
 * open no conversation here it is none.
 */
const leaveUnheard = (draft: Draft, { action }: Record.RecordCore): void => {
  draft.note("too many proposals of its author came to nothing");
  const { state, inputs } = draft;
  const isWelcome = state.head !== null || inputs.admits(action.authorAgentId);
  if (isWelcome && !state.rounds.called) draft.changeRounds({ called: true });
};

/**
 * A proposal that comes when its slot is already certified has lost it all the same: an author that is slower than the
 * others would otherwise lose for ever without anybody seeing it.
 */
const noteLoser = (draft: Draft, { action }: Record.RecordCore): void => {
  const { state, inputs } = draft;
  const { authorAgentId, postIntent } = action;
  if (authorAgentId === inputs.self || draft.postUsed(authorAgentId, postIntent.postId)) return;
  if (!state.yieldTo.includes(authorAgentId)) state.yieldTo = [...state.yieldTo, authorAgentId];
};

/** Another member passed a proposal on: its first place from that member counts where the round's leader goes first. */
const passedOn = (
  draft: Draft,
  known: OpenRecord,
  from: OpenRecord["author"],
  laneSequence: number,
): void => {
  if (from in known.relays) return;
  draft.replaceOpen({ ...known, relays: { ...known.relays, [from]: laneSequence } });
};

/** The vote inside a proposal: there exactly when the conversation has two members. Null when it is not as it must be. */
const authorVoteOf = (
  draft: Draft,
  record: OpenRecord,
  vote: Statement.SignerEvidence | undefined,
): SignerMap | null => {
  const { members, trust } = draft.inputs;
  if (members.n !== 2) return vote === undefined ? {} : null;
  const card = members.cardOf(record.author);
  if (vote === undefined || vote.signerAgentId !== record.author || card === undefined) return null;
  const statement = actionVoteOf(subjectOf(record, members.conversationId), record.author);
  if (!Statement.verify(trust.verifier, card.signingKey, statement, vote.signature)) return null;
  return { [record.author]: vote.signature };
};

/** The round of a proposal's anchor: a GENESIS brings it along, of a POST it may not be known yet and could be any later one. */
const roundOf = (draft: Draft, { action, anchorHash }: Record.RecordCore): number => {
  if (action.kind === "genesis") return action.anchor.round;
  return draft.roundOf(anchorHash) ?? Infinity;
};

/** Why a proposal at or above the open height is not kept, or null. */
const problemOf = (
  draft: Draft,
  recordHash: OpenRecord["recordHash"],
  core: Record.RecordCore,
): string | null => {
  const { state, inputs } = draft;
  const { action } = core;
  if (!Record.isConsistent(core)) return "a proposal's hashes do not recompute";
  if (action.membershipHash !== inputs.members.membershipHash) return "a proposal names another membership";
  if (action.height === nextHeight(state) && action.previousRecordHash !== (state.head?.recordHash ?? null)) {
    return "a proposal stands on another predecessor than the certified head";
  }
  if (core.anchorHash !== state.anchor?.anchorHash && roundOf(draft, core) < (state.anchor?.round ?? 0)) {
    return "a proposal names a round that is over";
  }
  const { postId } = action.postIntent;
  if (draft.postUsed(action.authorAgentId, postId)) return "a proposal repeats a certified post";
  const own = state.open.filter((record) => record.author === action.authorAgentId);
  const isWanted = state.behind?.missing?.recordHash === recordHash;
  if (own.length >= Limits.candidatesPerAuthorMax && !isWanted)
    return "an author has too many open proposals";
  if (own.some((record) => record.postId === postId && record.postIntentHash !== action.postIntentHash)) {
    return "a proposal gives one post id to two intents";
  }
  return null;
};
