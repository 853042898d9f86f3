// Changing the round: wishes that bind nobody, statements that end every earlier vote, the one leader that completes a
// re-anchor from a quorum of them, and accepting it with everything it stands on already on disk.
// Knows when a round changes; what is voted for inside a round is Settle.ts's. Implements HIS-70 to HIS-79.

import type { CompletedReanchor, RouterAnchor } from "../history/Evidence.ts";
import { actionThresholdOf, faultsOf } from "../history/Quorum.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as Record from "../history/Record.ts";
import { RecordError } from "../history/RecordError.ts";
import * as Statement from "../history/Statement.ts";
import { actionVoteOf, carryVoteOf, durabilityVoteOf, type VoteSubject } from "../history/VerifyRecord.ts";
import type { AgentId, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { fallBehind } from "./Behind.ts";
import { entriesOf, isActionCertified } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { Certificate, StatementPacket } from "./Packet.ts";
import type { AcceptedAnchor, OpenRecord, Rounds, SignerMap } from "./State.ts";
import { areLeft, emptyCarrying, emptySlot, isUnderWay, nextHeight } from "./State.ts";

const change = (draft: Draft, more: Partial<Rounds>): void => {
  draft.state.rounds = { ...draft.state.rounds, ...more };
};

/** The k-th highest of some rounds, counted from 0, or -1 when there are too few. */
const ranked = (rounds: ReadonlyArray<number>, k: number): number => [...rounds].sort((a, b) => b - a)[k] ?? -1;

/** The round that this member is past: bound to, or wishing for. */
const reached = ({ bound, wish }: Rounds): number => Math.max(bound, wish);

// ---------- wishes

/** Cause for a round: says so to everybody. A wish binds nobody. */
export const wishFor = (draft: Draft, round: number): boolean => {
  const { state, inputs } = draft;
  if (round <= reached(state.rounds) || !inputs.folded || inputs.routerInstanceId === null) return false;
  change(draft, { wish: round });
  multicastWish(draft);
  return true;
};

export const multicastWish = (draft: Draft): void => {
  const { state, inputs } = draft;
  if (state.rounds.wish <= state.rounds.bound || inputs.routerInstanceId === null) return;
  const statement = {
    kind: "wish" as const,
    signerAgentId: inputs.self,
    conversationId: inputs.members.conversationId,
    round: state.rounds.wish,
    routerInstanceId: inputs.routerInstanceId,
  };
  draft.multicast({ ...statement, signature: Statement.sign(inputs.signer, statement) });
};

const raise = (map: Rounds["wishes"], signer: AgentId, round: number): Rounds["wishes"] =>
  round > (map[signer] ?? -1) ? { ...map, [signer]: round } : map;

export const takeWish = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"wish">): void => {
  const { signature, ...statement } = packet;
  const card = draft.inputs.members.cardOf(from);
  const believed =
    laneSequence !== null &&
    statement.signerAgentId === from &&
    card !== undefined &&
    Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature);
  if (!believed) return draft.note("a wish is not its sender's, or came outside the lane");
  change(draft, { wishes: raise(draft.state.rounds.wishes, from, statement.round) });
};

/**
 * What the rounds that others are at ask of this member: with f + 1 others wishing it wishes too; with q(n) wishing, or
 * f + 1 others bound by proven statements, it binds itself. Another Router instance is cause by itself.
 */
export const changeRounds = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  const { n, quorum } = inputs.members;
  const f = faultsOf(n);
  if (!inputs.folded) return false;
  const others = Object.entries(rounds.wishes).filter(([id]) => id !== inputs.self);
  const stated = Object.entries(rounds.stated).filter(([id]) => id !== inputs.self);
  const wished = others.map(([, round]) => round);
  const quorumAt = ranked([...wished, reached(rounds)], quorum - 1);
  const statedAt = ranked(stated.map(([, round]) => round), f);
  const bindingRound = Math.max(quorumAt, statedAt);
  if (bindingRound > rounds.bound) return bind(draft, bindingRound);
  const joined = ranked(wished, f);
  if (joined > reached(rounds)) return wishFor(draft, joined);
  if (anchor !== null && anchor.routerInstanceId !== inputs.routerInstanceId && rounds.bound === anchor.round) {
    return wishFor(draft, anchor.round + 1);
  }
  return completeAsLeader(draft);
};

// ---------- statements

const certificateOf = (draft: Draft, record: OpenRecord): Certificate => {
  const { recordHash, actionHash, height, previousRecordHash, anchorHash, author } = record;
  const threshold = actionThresholdOf(draft.inputs.members.n, height);
  return {
    recordHash,
    actionHash,
    height,
    previousRecordHash,
    anchorHash,
    signatures: exactly(record.action, threshold, author),
  };
};

/** Exactly `count` entries, the author's among them when it signed: proofs carry no more than they need. */
const exactly = (map: SignerMap, count: number, author?: AgentId): Certificate["signatures"] => {
  const entries = entriesOf(map);
  const first = entries.filter(({ signerAgentId }) => signerAgentId === author);
  const rest = entries.filter(({ signerAgentId }) => signerAgentId !== author);
  return entriesOf(
    Object.fromEntries(
      [...first, ...rest].slice(0, count).map(({ signerAgentId, signature }) => [signerAgentId, signature]),
    ),
  );
};

/** The round in which a record with its action certificate is prepared: that of its latest certificate. */
const preparedRound = (draft: Draft, record: OpenRecord): number => {
  if (!isActionCertified(draft, record) || !draft.knowsAnchor(record.anchorHash)) return -1;
  const own = Reanchor.bodyOf(draft.anchor(record.anchorHash)).round;
  return Math.max(own, record.carry?.round ?? -1);
};

/** The record above the head that is prepared in the highest round; of two in one round the one that was staged. */
const bestPrepared = (draft: Draft): { readonly record: OpenRecord; readonly round: number } | null => {
  const { state } = draft;
  let best: { readonly record: OpenRecord; readonly round: number } | null = null;
  for (const record of state.open) {
    if (record.height !== nextHeight(state)) continue;
    if (record.previousRecordHash !== (state.head?.recordHash ?? null)) continue;
    const round = preparedRound(draft, record);
    const staged = draft.inputs.self in record.durability;
    if (round < 0 || (best !== null && (round < best.round || (round === best.round && !staged)))) continue;
    best = { record, round };
  }
  return best;
};

/** Signs the statement for a round: from here on every vote under a lower round has ended. */
const bind = (draft: Draft, round: number): boolean => {
  const { state, inputs } = draft;
  if (inputs.routerInstanceId === null) return false;
  const head = draft.headRecord();
  const best = bestPrepared(draft);
  const statement: Statement.ReanchorStatement = {
    kind: "reanchor_statement",
    signerAgentId: inputs.self,
    conversationId: inputs.members.conversationId,
    membershipHash: inputs.members.membershipHash,
    round,
    routerInstanceId: inputs.routerInstanceId,
    head: state.head === null ? null : { recordHash: state.head.recordHash, height: state.head.height },
    prepared:
      best === null
        ? null
        : { recordHash: best.record.recordHash, height: best.record.height, round: best.round },
  };
  const own: StatementPacket = {
    kind: "statement_packet",
    statement,
    signature: Statement.sign(inputs.signer, statement),
    headProof: head === null ? null : headProofOf(draft, head),
    preparedProof: best === null ? null : preparedProofOf(draft, best.record),
  };
  state.proposal = null;
  change(draft, { bound: round, own });
  draft.multicast(own);
  return true;
};

type HeadRecord = NonNullable<ReturnType<Draft["headRecord"]>>;

const headProofOf = ({ inputs }: Draft, head: HeadRecord): StatementPacket["headProof"] => {
  const { action, actionHash, anchorHash } = head.recordCore;
  const map = (entries: HeadRecord["actionSignatures"]): SignerMap =>
    Object.fromEntries(entries.map(({ signerAgentId, signature }) => [signerAgentId, signature]));
  return {
    action: {
      recordHash: head.recordHash,
      actionHash,
      height: action.height,
      previousRecordHash: action.previousRecordHash,
      anchorHash,
      signatures: exactly(
        map(head.actionSignatures),
        actionThresholdOf(inputs.members.n, action.height),
        action.authorAgentId,
      ),
    },
    durabilityAnchorHash: Reanchor.hashOf(head.durabilityAnchor ?? head.routerAnchor),
    durabilityVotes: exactly(map(head.durabilityVotes), inputs.members.quorum),
  };
};

const preparedProofOf = (draft: Draft, record: OpenRecord): StatementPacket["preparedProof"] => ({
  action: certificateOf(draft, record),
  anchor: Reanchor.bodyOf(draft.anchor(record.anchorHash)),
  carry:
    record.carry === null
      ? null
      : {
          anchor: Reanchor.bodyOf(draft.anchor(record.carry.anchorHash)),
          carryVotes: exactly(record.carry.votes, draft.inputs.members.quorum),
        },
});

const areSigned = (
  draft: Draft,
  entries: ReadonlyArray<Statement.SignerEvidence>,
  threshold: number,
  statementOf: (signer: AgentId) => Statement.Statement,
): boolean =>
  entries.length >= threshold &&
  entries.every(({ signerAgentId, signature }) => {
    const card = draft.inputs.members.cardOf(signerAgentId);
    const { verifier } = draft.inputs.trust;
    return (
      card !== undefined && Statement.verify(verifier, card.signingKey, statementOf(signerAgentId), signature)
    );
  });

const subjectIn = (draft: Draft, certificate: Certificate): VoteSubject => ({
  ...certificate,
  conversationId: draft.inputs.members.conversationId,
});

const isCertificate = (draft: Draft, certificate: Certificate): boolean => {
  const threshold = actionThresholdOf(draft.inputs.members.n, certificate.height);
  return areSigned(draft, certificate.signatures, threshold, (id) =>
    actionVoteOf(subjectIn(draft, certificate), id),
  );
};

/** Whether a statement's claims are what its certificates say. */
const isProven = (draft: Draft, { statement, headProof, preparedProof }: StatementPacket): boolean =>
  provesHead(draft, statement.head, headProof) && provesPrepared(draft, statement.prepared, preparedProof);

const provesHead = (
  draft: Draft,
  head: Statement.ReanchorStatement["head"],
  proof: StatementPacket["headProof"],
): boolean => {
  if (head === null || proof === null) return head === null && proof === null;
  const { action, durabilityAnchorHash, durabilityVotes } = proof;
  // The own head needs no proof, and most heads are equal.
  if (head.recordHash === draft.state.head?.recordHash) return head.height === draft.state.head.height;
  const subject = { ...subjectIn(draft, action), anchorHash: durabilityAnchorHash };
  return (
    action.recordHash === head.recordHash &&
    action.height === head.height &&
    isCertificate(draft, action) &&
    areSigned(draft, durabilityVotes, draft.inputs.members.quorum, (id) => durabilityVoteOf(subject, id))
  );
};

const provesPrepared = (
  draft: Draft,
  prepared: Statement.ReanchorStatement["prepared"],
  proof: StatementPacket["preparedProof"],
): boolean => {
  if (prepared === null || proof === null) return prepared === null && proof === null;
  const { action, anchor, carry } = proof;
  if (action.recordHash !== prepared.recordHash || action.height !== prepared.height) return false;
  if (Record.anchorHashOf(anchor) !== action.anchorHash || !isCertificate(draft, action)) return false;
  if (carry === null) return anchor.round === prepared.round;
  const subject = { ...subjectIn(draft, action), anchorHash: Record.anchorHashOf(carry.anchor) };
  return (
    carry.anchor.round === prepared.round &&
    carry.anchor.round > anchor.round &&
    areSigned(draft, carry.carryVotes, draft.inputs.members.quorum, (id) => carryVoteOf(subject, id))
  );
};

export const takeStatement = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"statement_packet">,
): void => {
  const { state, inputs } = draft;
  const { statement, signature } = packet;
  const card = inputs.members.cardOf(from);
  if (from === inputs.self || statement.round < state.rounds.bound) return;
  const believed =
    laneSequence !== null &&
    statement.signerAgentId === from &&
    statement.membershipHash === inputs.members.membershipHash &&
    card !== undefined &&
    Statement.verify(inputs.trust.verifier, card.signingKey, statement, signature);
  if (!believed) return draft.note("a statement is not its sender's, or came outside the lane");
  if (!isProven(draft, packet)) return draft.note("a statement without its proof is passed over");
  const { rounds } = state;
  change(draft, {
    wishes: raise(rounds.wishes, from, statement.round),
    stated: raise(rounds.stated, from, statement.round),
  });
  if (statement.prepared !== null) {
    const { recordHash, round } = statement.prepared;
    change(draft, { proven: { ...rounds.proven, [recordHash]: Math.max(rounds.proven[recordHash] ?? -1, round) } });
  }
  if (Reanchor.leaderOf(inputs.members, statement.round) !== inputs.self) return;
  const kept = rounds.statements.filter(
    (other) => other.statement.signerAgentId !== from && other.statement.round >= rounds.bound,
  );
  change(draft, { statements: [...kept, packet] });
  askForStated(draft, packet);
};

/** A leader asks who stated a record for what it must hold itself before it can complete the round. */
const askForStated = (draft: Draft, { statement }: StatementPacket): void => {
  const { head, prepared, signerAgentId } = statement;
  if (isHeld(draft, statement)) return;
  if (head !== null && draft.certified(head.recordHash) === null) fallBehind(draft, { target: head }, signerAgentId);
  if (prepared !== null) askForRecord(draft, signerAgentId, prepared.recordHash);
};

const askForRecord = (draft: Draft, to: AgentId, recordHash: RecordHash): void => {
  if (!draft.inputs.folded || isPreparedHere(draft, recordHash)) return;
  draft.unicast(to, {
    kind: "record_request",
    conversationId: draft.inputs.members.conversationId,
    recordHash,
  });
};

/** Whether a record is certified here, or open with its action certificate. */
const isPreparedHere = (draft: Draft, recordHash: RecordHash): boolean => {
  if (draft.certified(recordHash) !== null) return true;
  const record = draft.find(recordHash);
  return record !== undefined && isActionCertified(draft, record);
};

// ---------- completing

/** The leader of the round that binds this member completes it from q(n) statements whose claims it holds itself. */
const completeAsLeader = (draft: Draft): boolean => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  const { members, self } = inputs;
  const { bound, own } = rounds;
  if (bound === (anchor?.round ?? 0) || rounds.completed === bound || own === null) return false;
  if (Reanchor.leaderOf(members, bound) !== self) return false;
  const usable = [own, ...rounds.statements].filter(
    ({ statement }) =>
      statement.round === bound &&
      statement.routerInstanceId === inputs.routerInstanceId &&
      isHeld(draft, statement),
  );
  if (usable.length < members.quorum) return false;
  const statements = usable
    .slice(0, members.quorum)
    .map(({ statement, signature }) => ({ ...statement, signature }))
    .sort((a, b) => members.indexOf(a.signerAgentId) - members.indexOf(b.signerAgentId));
  const decision = Reanchor.decide(statements);
  if (decision === null || inputs.routerInstanceId === null) return false;
  const { base, carried } = decision;
  const body: Record.ReanchorBody = {
    kind: "reanchor_body",
    conversationId: members.conversationId,
    membershipHash: members.membershipHash,
    round: bound,
    routerInstanceId: inputs.routerInstanceId,
    previousAnchorHash: base === null ? null : (draft.certified(base.recordHash)?.recordCore.anchorHash ?? null),
    baseRecordHash: base?.recordHash ?? null,
    carriedRecordHash: carried?.recordHash ?? null,
  };
  const completed: CompletedReanchor = { kind: "completed_reanchor", body, statements };
  change(draft, { completed: bound, pending: completed });
  draft.multicast(completed);
  return true;
};

/** Whether the records that a statement speaks of are here, so that this member could accept what it decides. */
const isHeld = (draft: Draft, { head, prepared }: Statement.ReanchorStatement): boolean => {
  if (head !== null && draft.certified(head.recordHash) === null) return false;
  return prepared === null || isPreparedHere(draft, prepared.recordHash);
};

export const takeReanchor = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"completed_reanchor">,
): void => {
  const { state, inputs } = draft;
  const { rounds, anchor } = state;
  const { body } = packet;
  if (body.round < rounds.bound || body.round <= (anchor?.round ?? 0)) return;
  if (rounds.pending !== null && rounds.pending.body.round >= body.round) return;
  if (laneSequence === null || from !== Reanchor.leaderOf(inputs.members, body.round)) {
    return draft.note("a re-anchor came from another than the leader of its round");
  }
  if (body.routerInstanceId !== inputs.routerInstanceId) {
    return draft.note("a re-anchor names another Router instance");
  }
  try {
    Reanchor.verify(inputs.trust, inputs.members, packet);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return draft.note(`a re-anchor was refused: ${error.message}`);
  }
  change(draft, { pending: packet });
  draft.progressed = true;
  askForPending(draft);
};

// ---------- accepting

/** Accepts the pending re-anchor once the chain up to its base, and its carried record with its certificate, are here. */
export const tryPending = (draft: Draft): boolean => {
  const { state } = draft;
  const { pending, bound } = state.rounds;
  if (pending === null) return false;
  if (pending.body.round < bound || pending.body.round <= (state.anchor?.round ?? 0)) {
    change(draft, { pending: null });
    return false;
  }
  const decision = Reanchor.decide(pending.statements);
  if (decision === null || !standsHere(draft, pending, decision)) return false;
  acceptReanchor(draft, pending);
  return true;
};

const standsHere = (draft: Draft, { body }: CompletedReanchor, { base, carried }: Reanchor.Decision): boolean => {
  const { state } = draft;
  const below = base === null ? null : draft.certified(base.recordHash);
  if (base === null ? state.head !== null && carried === null : below?.recordCore.action.height !== base.height) {
    return false;
  }
  if (below !== null && below.recordCore.anchorHash !== body.previousAnchorHash) return false;
  if (carried === null) return true;
  const above = draft.certifiedAt((base?.height ?? -1) + 1);
  if (above !== null) return above.recordHash === carried.recordHash;
  const record = draft.find(carried.recordHash);
  if (record === undefined || !isActionCertified(draft, record)) return false;
  const proven = Math.max(preparedRound(draft, record), state.rounds.proven[carried.recordHash] ?? -1);
  return proven >= carried.round;
};

/** Asks for what a pending re-anchor stands on: the chain up to its base, and the carried record from who stated it. */
export const askForPending = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { pending } = state.rounds;
  if (pending === null || !inputs.folded) return;
  const decision = Reanchor.decide(pending.statements);
  const { base, carried } = decision ?? { base: null, carried: null };
  if (base !== null && draft.certified(base.recordHash) === null) {
    return fallBehind(draft, { target: base }, Reanchor.leaderOf(inputs.members, pending.body.round));
  }
  if (carried === null) return;
  for (const { signerAgentId, prepared } of pending.statements) {
    if (signerAgentId === inputs.self || prepared?.recordHash !== carried.recordHash) continue;
    askForRecord(draft, signerAgentId, carried.recordHash);
  }
};

/** Whether a round that is changing needs a record here, with its certificate. */
export const isWanted = (draft: Draft, recordHash: RecordHash): boolean => {
  const { pending, statements } = draft.state.rounds;
  const named =
    pending?.body.carriedRecordHash === recordHash ||
    statements.some(({ statement }) => statement.prepared?.recordHash === recordHash);
  return named && !isPreparedHere(draft, recordHash);
};

const acceptedOf = (draft: Draft, anchor: RouterAnchor): AcceptedAnchor => {
  const body = Reanchor.bodyOf(anchor);
  const anchorHash = Record.anchorHashOf(body);
  const { round, routerInstanceId } = body;
  if (body.kind === "genesis_anchor") return { anchorHash, round, routerInstanceId, base: null, carried: null };
  const base = body.baseRecordHash === null ? null : draft.certified(body.baseRecordHash);
  return {
    anchorHash,
    round,
    routerInstanceId,
    base: base === null ? null : { recordHash: base.recordHash, height: base.recordCore.action.height },
    carried: body.carriedRecordHash,
  };
};

const acceptReanchor = (draft: Draft, anchor: RouterAnchor): void => {
  const { state } = draft;
  const accepted = acceptedOf(draft, anchor);
  draft.keepAnchor(accepted.anchorHash, anchor);
  const best = bestPrepared(draft);
  state.anchor = accepted;
  state.slot = emptySlot;
  state.carrying = emptyCarrying;
  state.proposal = null;
  state.spread = null;
  change(draft, { bound: accepted.round, own: null, pending: null, statements: [], stall: null });
  const next = nextHeight(state);
  draft.keepOpen(
    (record) =>
      record.height > next ||
      record.anchorHash === accepted.anchorHash ||
      record.recordHash === accepted.carried ||
      record.recordHash === best?.record.recordHash,
  );
  // Whoever has certified the carried record already shows that to the others.
  if (accepted.carried !== null && state.head?.recordHash === accepted.carried) {
    const at = draft.inputs.now + Limits.spreadStepMs * draft.inputs.members.indexOf(draft.inputs.self);
    state.spread = { what: "certified-notice", recordHash: accepted.carried, at };
  }
  draft.progressed = true;
};

/** A certificate under an anchor shows that a quorum accepted it: it is accepted here too, unless it binds to less. */
export const adopt = (draft: Draft, anchor: RouterAnchor): void => {
  const { state } = draft;
  const { round } = Reanchor.bodyOf(anchor);
  draft.keepAnchor(Reanchor.hashOf(anchor), anchor);
  if (state.anchor !== null && round <= state.anchor.round) return;
  if (round < state.rounds.bound) return;
  const accepted = acceptedOf(draft, anchor);
  const waits = accepted.carried !== null && (accepted.base?.recordHash ?? null) === (state.head?.recordHash ?? null);
  if (waits) return;
  if (anchor.kind === "genesis_anchor") state.anchor = accepted;
  else acceptReanchor(draft, anchor);
};

// ---------- time

/** Long without progress: another round is wished for when a quorum was heard, so that it can be had. */
export const stallTick = (draft: Draft): void => {
  const { state, inputs } = draft;
  const { stall, heard, bound, wishes } = state.rounds;
  if (stall === null || stall.at > inputs.now) return;
  const intervalMs = Math.min(stall.intervalMs * 2, Limits.roundMsMax);
  const { quorum } = inputs.members;
  const changing = bound > (state.anchor?.round ?? 0);
  const there = Object.entries(wishes).filter(([id, round]) => id !== inputs.self && round >= bound).length + 1;
  const cause = changing ? there >= quorum : heard.length + 1 >= quorum;
  change(draft, { heard: [], stall: { at: inputs.now + intervalMs, intervalMs } });
  const idle = !isUnderWay(state) && state.slot.lock === null;
  // Where all is quiet nobody is heard but the one that is left behind: it is helped without waiting for others.
  if (cause || (idle && areLeft(state))) wishFor(draft, bound + 1);
  else if (idle) lapse(draft);
};

/** With nothing under way and nobody left behind, a wish has lost its cause. */
const lapse = (draft: Draft): void => change(draft, { wish: 0, wishes: draft.state.rounds.stated, stall: null });

/** What silence repeats of a round that is being changed. */
export const repeatRound = (draft: Draft): void => {
  const { state } = draft;
  const { rounds } = state;
  multicastWish(draft);
  if (rounds.own !== null && rounds.bound > (state.anchor?.round ?? 0)) draft.multicast(rounds.own);
  if (rounds.pending !== null && rounds.completed === rounds.pending.body.round) draft.multicast(rounds.pending);
  for (const packet of rounds.statements) askForStated(draft, packet);
  askForPending(draft);
};

/** Members are heard whatever they send. */
export const hear = (draft: Draft, from: AgentId): void => {
  const { rounds } = draft.state;
  if (from === draft.inputs.self || rounds.stall === null || rounds.heard.includes(from)) return;
  change(draft, { heard: [...rounds.heard, from] });
};
