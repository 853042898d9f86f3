// The rules of the normal case, run to a fixed point after every event: commit what is certified, vote for what may be
// voted for, take the slot's lock in lane order, certify own records, propose the oldest own intent.
// Implements HIS-22 to HIS-33.

import * as Evidence from "../history/Evidence.ts";
import { actionThresholdOf } from "../history/Quorum.ts";
import * as Record from "../history/Record.ts";
import * as Statement from "../history/Statement.ts";
import { actionVoteOf, durabilityVoteOf } from "../history/VerifyRecord.ts";
import type { AgentId } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { noteHead } from "./Behind.ts";
import type { Draft } from "./Draft.ts";
import type { CertifiedNotice, SignedActionVote, SignedDurabilityVote } from "./Packet.ts";
import type { OpenRecord, SignerMap } from "./State.ts";
import { emptySlot, follows, isDecided, nextHeight, openRecordOf, subjectOf } from "./State.ts";

export const mapOf = (entries: ReadonlyArray<Statement.SignerEvidence>): SignerMap =>
  Object.fromEntries(entries.map(({ signerAgentId, signature }) => [signerAgentId, signature]));

export const entriesOf = (map: SignerMap): Evidence.Signatures =>
  Evidence.sorted(
    Object.entries(map).map(([signerAgentId, signature]) => ({
      signerAgentId: signerAgentId as AgentId,
      signature,
    })),
  );

/** The accepted anchor whole, as evidence carries it. */
export const routerAnchorOf = (draft: Draft): Record.GenesisAnchor | null => {
  const { anchor } = draft.state;
  if (anchor === null) return null;
  const { conversationId, membershipHash } = draft.inputs.members;
  const { round, routerInstanceId } = anchor;
  return { kind: "genesis_anchor", conversationId, membershipHash, round, routerInstanceId };
};

/** Only who is connected and has folded the lane signs, and only under an anchor that names the Router it is bound to. */
const maySign = ({ state, inputs }: Draft): boolean =>
  inputs.folded &&
  inputs.routerInstanceId !== null &&
  (state.anchor === null || state.anchor.routerInstanceId === inputs.routerInstanceId);

export const isActionCertified = (draft: Draft, record: OpenRecord): boolean =>
  record.author in record.action &&
  Object.keys(record.action).length >= actionThresholdOf(draft.inputs.members.n, record.height);

const isDurable = (draft: Draft, record: OpenRecord): boolean =>
  Object.keys(record.durability).length >= draft.inputs.members.quorum;

/** Applies the rules until none of them changes anything. */
export const settle = (draft: Draft): void => {
  while (
    commitCertified(draft) ||
    takeLock(draft) ||
    castActionVote(draft) ||
    castDurabilityVote(draft) ||
    spreadOwnCertificate(draft) ||
    propose(draft)
  ) {
    draft.progressed = true;
  }
};

const commitCertified = (draft: Draft): boolean => {
  const record = draft.state.open.find(
    (candidate) =>
      follows(draft.state, candidate) && isActionCertified(draft, candidate) && isDurable(draft, candidate),
  );
  const routerAnchor = routerAnchorOf(draft);
  if (record === undefined || routerAnchor === null) return false;
  const { members, self, now } = draft.inputs;
  commitRecord(draft, {
    recordHash: record.recordHash,
    recordCore: draft.core(record.recordHash),
    routerAnchor,
    durabilityAnchor: null,
    actionSignatures: entriesOf(record.action),
    durabilityVotes: entriesOf(record.durability),
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
  if (state.anchor === null && record.routerAnchor.kind === "genesis_anchor") {
    const { round, routerInstanceId } = record.routerAnchor;
    state.anchor = { anchorHash: record.recordCore.anchorHash, round, routerInstanceId };
  }
  state.slot = emptySlot;
  state.proposal = null;
  state.spread = null;
  state.silence = null;
  const owed = mine ? [...state.yieldTo, ...losers.map(({ author }) => author)] : state.yieldTo;
  state.yieldTo = [...new Set(owed)].filter((author) => author !== action.authorAgentId);
  if (state.yieldTo.length === 0) state.yieldUntil = null;
  else if (mine) state.yieldUntil = inputs.now + Limits.yieldMs;
  if (mine) {
    draft.endedIntents.add(postId);
    if (state.everProposed === postId) state.everProposed = null;
    draft.commands.push({ kind: "intent-ended", postId, outcome: "certified" });
  }
  const next = nextHeight(state);
  draft.keepOpen(
    (other) =>
      other.height >= next &&
      (other.height > next || other.previousRecordHash === record.recordHash) &&
      !(other.author === action.authorAgentId && other.postId === postId),
  );
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
    durabilityAnchorHash: record.recordCore.anchorHash,
    actionSignatures: record.actionSignatures,
    durabilityVotes: record.durabilityVotes,
  };
  draft.multicast(notice);
};

/** The first valid proposal in lane order takes the slot's lock, even while the lane is still being folded. */
const takeLock = (draft: Draft): boolean => {
  const { state } = draft;
  if (state.slot.lock !== null || isDecided(state)) return false;
  let first: OpenRecord | undefined;
  for (const record of state.open) {
    if (record.laneSequence === null || !follows(state, record)) continue;
    if (first === undefined || record.laneSequence < (first.laneSequence as number)) first = record;
  }
  if (first === undefined) return false;
  acceptAnchor(draft, first);
  state.slot = { ...state.slot, lock: first.recordHash };
  return true;
};

/** The genesis anchor is accepted with the first GENESIS that this member locks or proposes. */
const acceptAnchor = (draft: Draft, record: OpenRecord): void => {
  if (draft.state.anchor !== null) return;
  const core = draft.core(record.recordHash);
  if (!Record.isGenesis(core)) throw new Error("a conversation without an anchor can only lock a GENESIS");
  const { round, routerInstanceId } = core.action.anchor;
  draft.state.anchor = { anchorHash: record.anchorHash, round, routerInstanceId };
};

const castActionVote = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { lock, actionVote } = state.slot;
  if (lock === null || actionVote !== null || !maySign(draft) || isDecided(state)) return false;
  const record = draft.find(lock);
  if (record === undefined) throw new Error("the locked record is not open");
  state.slot = { ...state.slot, actionVote: lock };
  // In a two-member conversation the author's vote travelled inside its proposal.
  if (inputs.self in record.action) return true;
  const vote = signActionVote(draft, record, false);
  if (record.author !== inputs.self) draft.sendActionVote(record.author, vote);
  return true;
};

const signActionVote = (draft: Draft, record: OpenRecord, inProposal: boolean): SignedActionVote => {
  const { inputs, state } = draft;
  const statement = actionVoteOf(subjectOf(record, inputs.members.conversationId), inputs.self);
  const signature = Statement.sign(inputs.signer, statement);
  draft.replaceOpen({ ...record, action: { ...record.action, [inputs.self]: signature } });
  draft.commands.push({
    kind: "own-vote",
    vote: "action",
    height: record.height,
    round: state.anchor?.round ?? 0,
    recordHash: record.recordHash,
    anchorHash: record.anchorHash,
    inProposal,
    signature,
  });
  return { ...statement, signature };
};

/** A record with its action certificate is staged with one durability vote, whatever this member had locked. */
const castDurabilityVote = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  if (state.slot.durabilityVote !== null || !maySign(draft)) return false;
  const record = state.open.find(
    (candidate) => follows(state, candidate) && isActionCertified(draft, candidate),
  );
  if (record === undefined) return false;
  acceptAnchor(draft, record);
  const statement = durabilityVoteOf(subjectOf(record, inputs.members.conversationId), inputs.self);
  const signature = Statement.sign(inputs.signer, statement);
  draft.replaceOpen({ ...record, durability: { ...record.durability, [inputs.self]: signature } });
  state.slot = { ...state.slot, durabilityVote: record.recordHash };
  draft.commands.push({
    kind: "own-vote",
    vote: "durability",
    height: record.height,
    round: state.anchor?.round ?? 0,
    recordHash: record.recordHash,
    anchorHash: record.anchorHash,
    inProposal: false,
    signature,
  });
  const vote: SignedDurabilityVote = { ...statement, signature };
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
  if (slot.certificateSent || slot.durabilityVote === null) return false;
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
  if (!maySign(draft) || isDecided(state)) return false;
  if (state.yieldUntil !== null && inputs.now < state.yieldUntil) return false;
  const next = inputs.reads.nextIntent(draft.endedIntents);
  if (next === null) return false;
  if (state.yieldUntil !== null) endCourtesy(draft);
  const core = coreOf(draft, next.intent);
  const recordHash = Record.recordHashOf(core);
  const authorSignature = Statement.sign(inputs.signer, {
    kind: "proposal",
    authorAgentId: inputs.self,
    actionHash: core.actionHash,
  });
  const record = openRecordOf(recordHash, core, { authorSignature, laneSequence: null });
  draft.addOpen(record, core);
  acceptAnchor(draft, record);
  if (inputs.members.n === 2) signActionVote(draft, record, true);
  state.proposal = { recordHash, postId: next.intent.postId };
  state.everProposed = next.intent.postId;
  multicastProposal(draft);
  return true;
};

const coreOf = (draft: Draft, intent: Record.PostIntent): Record.RecordCore => {
  const { state, inputs } = draft;
  if (state.head === null) {
    if (inputs.routerInstanceId === null) throw new Error("a GENESIS names a Router instance");
    return Record.genesisCore(inputs.members.membership, intent, {
      kind: "genesis_anchor",
      conversationId: inputs.members.conversationId,
      membershipHash: inputs.members.membershipHash,
      round: 0,
      routerInstanceId: inputs.routerInstanceId,
    });
  }
  return Record.postCore(intent, {
    height: state.head.height + 1,
    previousRecordHash: state.head.recordHash,
    anchorHash: state.head.anchorHash,
  });
};

/** The own open proposal, again and again the same bytes. */
export const multicastProposal = (draft: Draft): void => {
  const { proposal } = draft.state;
  const record = proposal === null ? undefined : draft.find(proposal.recordHash);
  if (record === undefined || record.authorSignature === null) return;
  const ownVote = record.action[draft.inputs.self];
  draft.multicast({
    kind: "proposal_packet",
    recordCore: draft.core(record.recordHash),
    authorSignature: record.authorSignature,
    ...(draft.inputs.members.n === 2 && ownVote !== undefined
      ? { actionVote: { signerAgentId: draft.inputs.self, signature: ownVote } }
      : {}),
  });
};
