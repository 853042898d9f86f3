// Taking in evidence: votes, action certificates and certified notices. Every signature is verified once, on arrival, and
// kept with the record it names. Evidence of what this member cannot commit makes it ask.
// Implements HIS-29 to HIS-31 and HIS-58.

import { actionThresholdOf } from "../history/Quorum.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as Statement from "../history/Statement.ts";
import * as VerifyRecord from "../history/VerifyRecord.ts";
import type { AgentId, AnchorHash, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { fallBehind, lackPredecessor } from "./Behind.ts";
import { isActionCertified, mapOf } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import { repeatRefusal, repeatVoid } from "./Refusals.ts";
import { heedForgotten } from "./Restored.ts";
import type { Named, OpenRecord, SignerMap, Voted } from "./State.ts";
import { follows, isNext, nextHeight, subjectOf } from "./State.ts";

type VoteKind = "action" | "durability" | "carry";
type Entries = ReadonlyArray<Statement.SignerEvidence>;

const statementOf = {
  action: VerifyRecord.actionVoteOf,
  durability: VerifyRecord.durabilityVoteOf,
  carry: VerifyRecord.carryVoteOf,
} as const;

/** The votes already known for a record, and those of `entries` that verify. Known ones cost nothing. */
const withVerified = (
  draft: Draft,
  named: Named,
  kind: VoteKind,
  known: SignerMap,
  entries: Entries,
): SignerMap => {
  const { inputs } = draft;
  const { members, trust } = inputs;
  const subject = subjectOf(named, members.conversationId);
  const added: { [signer: AgentId]: Statement.SignerEvidence["signature"] } = {};
  let isUntrue = false;
  for (const { signerAgentId, signature } of entries) {
    const card = members.cardOf(signerAgentId);
    if (card === undefined || signerAgentId in known || signerAgentId in added) continue;
    const statement = statementOf[kind](subject, signerAgentId);
    if (Statement.verify(trust.verifier, card.signingKey, statement, signature)) {
      added[signerAgentId] = signature;
      const isForgotten =
        signerAgentId === inputs.self && !inputs.reads.hasSigned(kind, named.recordHash, named.anchorHash);
      if (isForgotten) heedForgotten(draft, named.recordHash, draft.roundOf(named.anchorHash));
    } else isUntrue = true;
  }
  if (isUntrue) draft.note("votes do not verify for the record that they name");
  return Object.keys(added).length === 0 ? known : { ...known, ...added };
};

/** Verifies votes for an open record under its own anchor and keeps them. */
export const keepVotes = (
  draft: Draft,
  recordHash: RecordHash,
  kind: "action" | "durability",
  entries: Entries,
): void => {
  const record = draft.find(recordHash);
  if (record === undefined) return;
  const votes = withVerified(draft, record, kind, record[kind], entries);
  if (votes === record[kind]) return;
  draft.replaceOpen({ ...record, [kind]: votes });
  draft.progressed = true;
};

/** Verifies votes under the accepted anchor for the record that it carries, and keeps them. */
const keepCarrying = (
  draft: Draft,
  recordHash: RecordHash,
  kind: "carry" | "durability",
  entries: Entries,
): void => {
  const { state } = draft;
  const record = draft.find(recordHash);
  if (record === undefined || state.anchor === null || state.anchor.carried !== recordHash) return;
  const named = { ...record, anchorHash: state.anchor.anchorHash };
  const votes = withVerified(draft, named, kind, state.carrying[kind], entries);
  if (votes === state.carrying[kind]) return;
  state.carrying = { ...state.carrying, [kind]: votes };
  draft.progressed = true;
};

/** Whether votes under an anchor are for the record that the accepted anchor carries. */
const isForCarried = ({ state }: Draft, recordHash: RecordHash, anchorHash: AnchorHash): boolean =>
  state.anchor?.carried === recordHash && state.anchor.anchorHash === anchorHash;

/** Verified votes are kept beside the record that they name; votes for an unknown record are cause to ask. */
export const takeVotes = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"vote_packet">): void => {
  const { head } = draft.state;
  for (const vote of packet.actionVotes) keepVotes(draft, vote.recordHash, "action", [vote]);
  for (const vote of packet.durabilityVotes) {
    if (isForCarried(draft, vote.recordHash, vote.anchorHash)) {
      keepCarrying(draft, vote.recordHash, "durability", [vote]);
    } else if (draft.find(vote.recordHash)?.anchorHash === vote.anchorHash) {
      keepVotes(draft, vote.recordHash, "durability", [vote]);
    }
  }
  for (const vote of packet.carryVotes) {
    if (isForCarried(draft, vote.recordHash, vote.anchorHash))
      keepCarrying(draft, vote.recordHash, "carry", [vote]);
  }
  if (laneSequence !== null && from !== draft.inputs.self) repeatRefusalTo(draft, packet.actionVotes[0]);
  const votes = [...packet.actionVotes, ...packet.durabilityVotes, ...packet.carryVotes];
  const late = laneSequence !== null && head !== null && votes.some((vote) => vote.height <= head.height);
  if (late) helpStraggler(draft, from);
  else if (laneSequence !== null && from !== draft.inputs.self) heedVotes(draft, votes);
};

/**
 * Whoever waits with its vote for what this member has refused did not hear the refusals, and the author may have heard them
 * all and fallen silent: nobody else would free the voter of its lock.
 */
const repeatRefusalTo = (draft: Draft, vote: Pick<Named, "recordHash"> | undefined): void => {
  if (vote === undefined) return;
  const record = draft.find(vote.recordHash);
  if (record === undefined) repeatVoid(draft, vote.recordHash);
  else repeatRefusal(draft, record);
};

/**
 * Votes come in the lane when their member is silent for want of others. For a record that is not here, or under another
 * anchor, they are work that this member cannot see.
 */
const heedVotes = (draft: Draft, votes: ReadonlyArray<Pick<Named, "height" | "recordHash">>): void => {
  const { state } = draft;
  const isUnseen = votes.some(
    ({ height, recordHash }) => height === nextHeight(state) && draft.find(recordHash) === undefined,
  );
  if (isUnseen && !state.rounds.called) draft.changeRounds({ called: true });
};

/** A member that repeats work at or below the head missed the notice: whoever comes first tells everybody again. */
const helpStraggler = (draft: Draft, from: AgentId): void => {
  const { state, inputs } = draft;
  if (from === inputs.self || state.head === null || state.spread !== null) return;
  state.spread = {
    what: "certified-notice",
    recordHash: state.head.recordHash,
    at: inputs.now + Limits.spreadStepMs * inputs.members.indexOf(inputs.self),
  };
};

/** A quorum that lets the record stand: its votes are kept, and a core that is not here is asked for. */
export const takeActionCertificate = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"action_certificate">,
): void => {
  const { state, inputs } = draft;
  if (packet.height < nextHeight(state)) {
    if (laneSequence !== null) helpStraggler(draft, from);
    return;
  }
  if (draft.find(packet.recordHash) === undefined) return keepWithoutCore(draft, from, packet);
  keepVotes(draft, packet.recordHash, "action", packet.signatures);
  keepVotes(draft, packet.recordHash, "durability", [packet.durabilityVote]);
  const record = draft.find(packet.recordHash) as OpenRecord;
  if (!follows(state, record)) return lackPredecessor(draft, record, from);
  const { spread } = state;
  if (
    laneSequence !== null &&
    spread?.what === "action-certificate" &&
    spread.recordHash === record.recordHash &&
    isActionCertified(draft, { ...record, action: heldOf(record.action, packet.signatures) })
  ) {
    state.spread = null;
  }
  if (from !== inputs.self) answerCertificate(draft, record, from);
};

/** Those entries that are held, and so verified. */
const heldOf = (held: SignerMap, entries: Entries): SignerMap =>
  mapOf(entries.filter(({ signerAgentId, signature }) => held[signerAgentId] === signature));

/**
 * A certificate is answered with this member's durability vote: the one it cast before, or the one Settle.ts casts now.
 * A vote that the lane has already carried is known to whoever asks.
 */
const answerCertificate = (draft: Draft, record: OpenRecord, from: AgentId): void => {
  const { state, inputs } = draft;
  if (state.slot.durabilityVote === null) {
    draft.certificateFrom = from;
    return;
  }
  const signature = record.durability[inputs.self];
  if (signature === undefined || state.slot.certificateSent) return;
  const subject = subjectOf(record, inputs.members.conversationId);
  draft.sendDurabilityVote(from, { ...VerifyRecord.durabilityVoteOf(subject, inputs.self), signature });
};

/** A certificate whose core is not held proves that its slot is decided, when its votes are true: it is kept. */
const keepWithoutCore = (
  draft: Draft,
  from: AgentId,
  packet: ReceivedOf<"action_certificate">["packet"],
): void => {
  const { state, inputs } = draft;
  if (packet.anchorHash !== state.anchor?.anchorHash) {
    return draft.note("an action certificate names an anchor that was not accepted");
  }
  // Once a certificate is proven, what it named stands: later packets can only add votes to it.
  const before = state.behind?.missing ?? null;
  const known: Voted =
    before?.recordHash === packet.recordHash ? before : { ...namedBy(packet), action: {}, durability: {} };
  const action = withVerified(draft, known, "action", known.action, packet.signatures);
  const durability = withVerified(draft, known, "durability", known.durability, [packet.durabilityVote]);
  if (Object.keys(action).length < actionThresholdOf(inputs.members.n, known.height)) {
    return draft.note("an action certificate does not verify");
  }
  const { recordHash, height } = known;
  fallBehind(
    draft,
    { target: { height, recordHash }, missing: { from, ...known, action, durability } },
    from,
  );
};

const namedBy = (packet: ReceivedOf<"action_certificate">["packet"]): Named => {
  const { recordHash, actionHash, height, previousRecordHash, anchorHash } = packet;
  return { recordHash, actionHash, height, previousRecordHash, anchorHash };
};

/** The evidence that a record is certified: its votes are kept, and whoever cannot commit it asks. */
export const takeNotice = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"certified_notice">,
): void => {
  const { state } = draft;
  const { recordHash, height } = packet;
  if (height < nextHeight(state)) {
    if (laneSequence !== null && state.spread?.recordHash === recordHash && provesHead(draft, packet)) {
      state.spread = null;
    }
    return;
  }
  const record = draft.find(recordHash);
  if (record === undefined) return fallBehind(draft, { target: { height, recordHash } }, from);
  keepVotes(draft, recordHash, "action", packet.actionSignatures);
  if (packet.durabilityAnchorHash === record.anchorHash) {
    keepVotes(draft, recordHash, "durability", packet.durabilityVotes);
  } else if (isForCarried(draft, recordHash, packet.durabilityAnchorHash)) {
    keepCarrying(draft, recordHash, "durability", packet.durabilityVotes);
  } else {
    // Certified in a round that this member has not seen begin: whoever certified it can show both.
    return fallBehind(draft, { target: { height, recordHash } }, from);
  }
  if (!isNext(state, record)) {
    if (height > nextHeight(state)) lackPredecessor(draft, record, from);
    else fallBehind(draft, { target: { height, recordHash } }, from);
    return;
  }
  draft.certificateSeen = laneSequence !== null;
};

/** Whether a notice shows everybody that the head is certified. Entries equal to those of the head's record need no look. */
const provesHead = (draft: Draft, packet: ReceivedOf<"certified_notice">["packet"]): boolean => {
  const head = draft.headRecord();
  if (head === null || head.recordHash !== packet.recordHash) return false;
  const subject = VerifyRecord.subjectOf(head.recordHash, head.recordCore);
  const durable = Reanchor.hashOf(head.durabilityAnchor ?? head.routerAnchor);
  if (packet.durabilityAnchorHash !== durable) return false;
  const truths = (kind: VoteKind, held: Entries, shown: Entries): SignerMap => {
    const named = kind === "durability" ? { ...subject, anchorHash: durable } : subject;
    return withVerified(draft, named, kind, heldOf(mapOf(held), shown), shown);
  };
  const action = truths("action", head.actionSignatures, packet.actionSignatures);
  const durability = truths("durability", head.durabilityVotes, packet.durabilityVotes);
  const { n, quorum } = draft.inputs.members;
  return (
    head.recordCore.action.authorAgentId in action &&
    Object.keys(action).length >= actionThresholdOf(n, subject.height) &&
    Object.keys(durability).length >= quorum
  );
};
