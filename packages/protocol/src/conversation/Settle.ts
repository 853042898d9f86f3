// The rules of the normal case, run to a fixed point after every event: commit what is certified, vote for what may be
// voted for, take the slot's lock in lane order, certify own records, propose the oldest own intent.
// Implements HIS-22 to HIS-33.

import type * as Evidence from "../history/Evidence.ts";
import * as Record from "../history/Record.ts";
import * as Statement from "../history/Statement.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as Limits from "../Limits.ts";
import { adopt, tryPending } from "./Acceptance.ts";
import { noteHead } from "./Behind.ts";
import { carry, isCarriedDurably } from "./Carrying.ts";
import { entriesOf, isActionCertified } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import { mayPropose, maySign, signAction, signDurability } from "./OwnVotes.ts";
import type { CertifiedNotice, SignedActionVote } from "./Packet.ts";
import { isRefused, isUnheard, settleRefusals } from "./Refusals.ts";
import { oldIntents, settleRestored } from "./Restored.ts";
import { changeRounds } from "./Rounds.ts";
import { wishFor } from "./Wishes.ts";
import type { OpenRecord } from "./State.ts";
import {
  emptySlot,
  follows,
  isCarrying,
  isDecided,
  isNext,
  isOpening,
  isVoting,
  nextHeight,
  openRecordOf,
  subjectOf,
} from "./State.ts";

const isDurable = (draft: Draft, record: OpenRecord): boolean =>
  Object.keys(record.durability).length >= draft.inputs.members.quorum;

/** Changes the draft where it applies, and says whether it did. */
type Rule = (draft: Draft) => boolean;

/** Signatures enough, under the record's own anchor or the one that carries it: the record is certified, and is the head. */
const commitCertified = (draft: Draft): boolean => {
  const { members, self, now } = draft.inputs;
  const record = draft.state.open.find(
    (candidate) =>
      isNext(draft.state, candidate) &&
      isActionCertified(draft, candidate) &&
      (isDurable(draft, candidate) || isCarriedDurably(draft, candidate)),
  );
  if (record === undefined || draft.state.anchor === null) return false;
  const underOwn = isDurable(draft, record);
  const accepted = draft.anchor(draft.state.anchor.anchorHash);
  commitRecord(draft, {
    recordHash: record.recordHash,
    recordCore: draft.core(record.recordHash),
    routerAnchor: draft.anchor(record.anchorHash),
    durabilityAnchor: underOwn || accepted.kind === "genesis_anchor" ? null : accepted,
    actionSignatures: entriesOf(record.action),
    durabilityVotes: entriesOf(underOwn ? record.durability : draft.state.carrying.durability),
  });
  if (draft.certificateSeen) draft.state.spread = null;
  else if (record.author === self) multicastNotice(draft);
  else {
    draft.state.spread = {
      what: "certified-notice",
      recordHash: record.recordHash,
      at: now + Limits.spreadStepMs * members.indexOf(self),
    };
  }
  return true;
};

/**
 * Makes a verified record the head: one commit for the endpoint, and everything that lived in its slot ends. Records that
 * stand at its height, stand on another predecessor or repeat its post can never be certified any more.
 */
export const commitRecord = (draft: Draft, record: Evidence.HistoryRecord): void => {
  const { state, inputs } = draft;
  const { action } = record.recordCore;
  const postId = action.postIntent.postId;
  const mine = action.authorAgentId === inputs.self;
  const losers = state.open.filter(
    (other) =>
      other.height === action.height && other.author !== action.authorAgentId && other.laneSequence !== null,
  );
  draft.noteCommitted(record);
  state.head = {
    height: action.height,
    recordHash: record.recordHash,
    anchorHash: record.recordCore.anchorHash,
  };
  state.slot = emptySlot;
  state.proposal = null;
  state.spread = null;
  state.silence = null;
  state.voids = state.voids.filter(({ height }) => height > action.height);
  const owed = mine ? [...state.yieldTo, ...losers.map(({ author }) => author)] : state.yieldTo;
  state.yieldTo = [...new Set(owed)].filter((author) => author !== action.authorAgentId);
  if (state.yieldTo.length === 0) state.yieldUntil = null;
  else if (mine) state.yieldUntil = inputs.now + Limits.yieldMs;
  if (mine) {
    draft.endedIntents.add(postId);
    if (state.everProposed === postId) state.everProposed = null;
    state.withdrawing = state.withdrawing.filter((withdrawn) => withdrawn.postId !== postId);
    draft.commands.push({ kind: "intent-ended", postId, outcome: "certified" });
  }
  const next = nextHeight(state);
  draft.keepOpen(
    (other) =>
      other.height >= next &&
      (other.height > next || other.previousRecordHash === record.recordHash) &&
      !(other.author === action.authorAgentId && other.postId === postId),
  );
  adopt(draft, record.routerAnchor);
  if (record.durabilityAnchor !== null) adopt(draft, record.durabilityAnchor);
  // Progress ends the cause of a wish, the own and the others'; statements bind on.
  const { rounds } = state;
  state.rounds = { ...rounds, wish: 0, wishes: rounds.stated, called: false, stall: null, proven: {} };
  noteHead(draft, action.height);
  draft.progressed = true;
};

/** Who was to go next has gone, or had its time. */
export const endCourtesy = ({ state }: Draft): void => {
  state.yieldUntil = null;
  state.yieldTo = [];
};

/** The evidence of the head, for members who miss it. */
export const multicastNotice = (draft: Draft): void => {
  const record = draft.headRecord();
  if (record === null) return;
  const notice: CertifiedNotice = {
    kind: "certified_notice",
    conversationId: draft.inputs.members.conversationId,
    recordHash: record.recordHash,
    height: record.recordCore.action.height,
    durabilityAnchorHash: Reanchor.hashOf(record.durabilityAnchor ?? record.routerAnchor),
    actionSignatures: record.actionSignatures,
    durabilityVotes: record.durabilityVotes,
  };
  draft.multicast(notice);
};

/** The first valid proposal in lane order takes the slot's lock, even while the lane is still being folded. */
const takeLock = (draft: Draft): boolean => {
  const { state } = draft;
  if (state.slot.lock !== null || isDecided(state) || !isVoting(state) || isCarrying(state)) return false;
  const first = firstOf(draft, placeOf);
  if (first === undefined) return false;
  acceptAnchor(draft, first);
  state.slot = { ...state.slot, lock: first.recordHash };
  return true;
};

/** A record's place in the lane as far as it counts: at the first height of a later round only its leader gives places. */
const placeOf = ({ state, inputs }: Draft, record: OpenRecord): number | null => {
  if (!isOpening(state)) return record.laneSequence;
  const leader = Reanchor.leaderOf(inputs.members, state.rounds.bound);
  return record.author === leader ? record.laneSequence : (record.relays[leader] ?? null);
};

/** Of the records that follow the head, the first by a kind of place. */
const firstOf = (
  draft: Draft,
  place: (draft: Draft, record: OpenRecord) => number | null,
): OpenRecord | undefined => {
  let first: { readonly record: OpenRecord; readonly at: number } | undefined;
  for (const record of draft.state.open) {
    const isCandidate = follows(draft.state, record) && !isRefused(draft, record);
    const at = isCandidate ? place(draft, record) : null;
    if (at !== null && (first === undefined || at < first.at)) first = { record, at };
  }
  return first?.record;
};

/** The leader of a round passes on the first proposal that it knows, so that the round's first slot cannot split. */
const passOn = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const leads = Reanchor.leaderOf(inputs.members, state.rounds.bound) === inputs.self;
  if (!leads || !isOpening(state) || isCarrying(state) || state.slot.lock !== null || state.slot.relayed)
    return false;
  if (!maySign(draft) || isDecided(state)) return false;
  const first = firstOf(draft, (_, { laneSequence }) => laneSequence);
  if (first === undefined) return false;
  state.slot = { ...state.slot, relayed: true };
  if (first.author !== inputs.self) multicastProposalOf(draft, first);
  return true;
};

/** The genesis anchor is accepted with the first GENESIS that this member locks or proposes. */
const acceptAnchor = (draft: Draft, record: OpenRecord): void => {
  if (draft.state.anchor !== null) return;
  const core = draft.core(record.recordHash);
  if (!Record.isGenesis(core) || core.action.anchor.kind !== "genesis_anchor") {
    throw new Error("a conversation without an anchor can only lock a GENESIS of round 0");
  }
  adopt(draft, core.action.anchor);
};

/** The lock's action vote goes to its author, once, when the lane is folded. */
const castActionVote = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { lock, actionVote } = state.slot;
  if (lock === null || actionVote !== null || !maySign(draft) || isDecided(state) || isCarrying(state))
    return false;
  const record = draft.find(lock);
  if (record === undefined) throw new Error("the locked record is not open");
  if (isRefused(draft, record) || mustVoteLast(draft, record)) return false;
  state.slot = { ...state.slot, actionVote: lock };
  // In a two-member conversation the author's vote travelled inside its proposal.
  if (inputs.self in record.action) return true;
  const vote = signActionVote(draft, record, false);
  if (record.author !== inputs.self) draft.sendActionVote(record.author, vote);
  return true;
};

/**
 * The author of a group's GENESIS votes for it when all others have. It needs the votes of all, so nothing is slower for it,
 * and until then the author can still take it back, for good, when one of them refuses.
 */
const mustVoteLast = (
  { inputs: { self, members } }: Draft,
  { author, height, action }: OpenRecord,
): boolean => height === 0 && author === self && members.n > 2 && Object.keys(action).length < members.n - 1;

const signActionVote = (draft: Draft, record: OpenRecord, inProposal: boolean): SignedActionVote => {
  const { conversationId } = draft.inputs.members;
  const vote = signAction(draft, subjectOf(record, conversationId), inProposal);
  draft.replaceOpen({ ...record, action: { ...record.action, [vote.signerAgentId]: vote.signature } });
  return vote;
};

/** A record with its action certificate is staged with one durability vote, whatever this member had locked. */
const castDurabilityVote = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  if (state.slot.durabilityVote !== null || !maySign(draft) || isCarrying(state)) return false;
  const record = state.open.find(
    (candidate) => follows(state, candidate) && isActionCertified(draft, candidate),
  );
  if (record === undefined) return false;
  acceptAnchor(draft, record);
  const vote = signDurability(draft, subjectOf(record, inputs.members.conversationId));
  draft.replaceOpen({ ...record, durability: { ...record.durability, [inputs.self]: vote.signature } });
  state.slot = { ...state.slot, durabilityVote: record.recordHash };
  if (draft.certificateFrom !== null) draft.sendDurabilityVote(draft.certificateFrom, vote);
  else if (record.author !== inputs.self) {
    draft.sendDurabilityVote(record.author, vote);
    // Completed from votes that silence brought: the author may be gone, so the certificate must not stay here.
    if (inputs.members.n > 2) {
      const at = inputs.now + Limits.spreadStepMs * inputs.members.indexOf(inputs.self);
      state.spread = { what: "action-certificate", recordHash: record.recordHash, at };
    }
  }
  return true;
};

/** The author is the collector: with a full action certificate and its own durability vote it tells everybody. */
const spreadOwnCertificate = (draft: Draft): boolean => {
  const { slot } = draft.state;
  if (slot.certificateSent || slot.durabilityVote === null || isCarrying(draft.state)) return false;
  const record = draft.find(slot.durabilityVote);
  if (record === undefined || record.author !== draft.inputs.self || isDurable(draft, record)) return false;
  multicastActionCertificate(draft, record);
  return true;
};

/** Multicasts the action certificate of a record that carries this member's own durability vote. */
export const multicastActionCertificate = (draft: Draft, record: OpenRecord): void => {
  const signature = record.durability[draft.inputs.self];
  if (signature === undefined)
    throw new Error("an action certificate travels with its sender's durability vote");
  draft.state.slot = { ...draft.state.slot, certificateSent: true };
  draft.multicast({
    kind: "action_certificate",
    ...subjectOf(record, draft.inputs.members.conversationId),
    signatures: entriesOf(record.action),
    durabilityVote: { signerAgentId: draft.inputs.self, signature },
  });
};

/** One open proposal per author, oldest intent first, none while the slot's lock is another's. */
const propose = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  if (state.proposal !== null || state.slot.lock !== null) return false;
  if (!mayPropose(draft) || isDecided(state) || isCarrying(state)) return false;
  if (state.yieldUntil !== null && inputs.now < state.yieldUntil) return false;
  const passedOver = new Set(oldIntents(draft));
  for (const { postId } of state.withdrawing) passedOver.add(postId);
  const next = inputs.reads.nextIntent(passedOver);
  if (next === null) return false;
  // Nobody hears this member before the round has changed.
  if (isUnheard(draft, inputs.self)) return wishFor(draft, state.rounds.bound + 1);
  if (state.yieldUntil !== null) endCourtesy(draft);
  const core = coreOf(draft, next.intent);
  const recordHash = Record.recordHashOf(core);
  if (draft.find(recordHash) === undefined) makeProposal(draft, recordHash, core);
  state.proposal = { recordHash, postId: next.intent.postId };
  state.everProposed = next.intent.postId;
  multicastProposal(draft);
  return true;
};

/** Signs an own proposal and keeps it. One that is open already, because its author lost track of it, is only said again. */
const makeProposal = (draft: Draft, recordHash: OpenRecord["recordHash"], core: Record.RecordCore): void => {
  const { inputs } = draft;
  const authorSignature = Statement.sign(inputs.signer, {
    kind: "proposal",
    authorAgentId: inputs.self,
    actionHash: core.actionHash,
  });
  const record = openRecordOf(recordHash, core, inputs.routerInstanceId, {
    authorSignature,
    laneSequence: null,
  });
  draft.addOpen(record, core);
  acceptAnchor(draft, record);
  if (inputs.members.n === 2) signActionVote(draft, record, true);
};

const coreOf = (draft: Draft, intent: Record.PostIntent): Record.RecordCore => {
  const { state, inputs } = draft;
  const { anchor, head } = state;
  if (head !== null && anchor !== null) {
    return Record.postCore(intent, {
      height: head.height + 1,
      previousRecordHash: head.recordHash,
      anchorHash: anchor.anchorHash,
    });
  }
  if (inputs.routerInstanceId === null) throw new Error("a GENESIS names a Router instance");
  const { membership, conversationId, membershipHash } = inputs.members;
  const first = {
    kind: "genesis_anchor" as const,
    conversationId,
    membershipHash,
    round: 0,
    routerInstanceId: inputs.routerInstanceId,
  };
  return Record.genesisCore(
    membership,
    intent,
    anchor === null ? first : Reanchor.bodyOf(draft.anchor(anchor.anchorHash)),
  );
};

/** The own open proposal, again and again the same bytes. */
export const multicastProposal = (draft: Draft): void => {
  const { proposal } = draft.state;
  const record = proposal === null ? undefined : draft.find(proposal.recordHash);
  if (record !== undefined) multicastProposalOf(draft, record);
};

/** A proposal as its author made it, from whoever passes it on. */
const multicastProposalOf = (draft: Draft, record: OpenRecord): void => {
  if (record.authorSignature === null) return;
  const vote = record.action[record.author];
  draft.multicast({
    kind: "proposal_packet",
    recordCore: draft.core(record.recordHash),
    authorSignature: record.authorSignature,
    ...(draft.inputs.members.n === 2 && vote !== undefined
      ? { actionVote: { signerAgentId: record.author, signature: vote } }
      : {}),
  });
};

/** In this order: the first that changes anything is followed by the first again. */
export const rules: ReadonlyArray<Rule> = [
  commitCertified,
  settleRestored,
  changeRounds,
  tryPending,
  carry,
  settleRefusals,
  takeLock,
  castActionVote,
  castDurabilityVote,
  spreadOwnCertificate,
  passOn,
  propose,
];

/** Applies the rules until none of them changes anything. */
export const settle = (draft: Draft): void => {
  while (rules.some((rule) => rule(draft))) draft.progressed = true;
};
