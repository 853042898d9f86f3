// Taking in evidence: votes, action certificates and certified notices. Every signature is verified once, on arrival, and
// kept with the record it names. Evidence of what this member cannot commit makes it ask. Implements HIS-29 to HIS-31, HIS-41 and HIS-43.

import { actionThresholdOf } from "../history/Quorum.ts";
import * as Statement from "../history/Statement.ts";
import { actionVoteOf, durabilityVoteOf, type VoteSubject } from "../history/VerifyRecord.ts";
import type { AgentId, Ed25519Signature, RecordHash } from "../identity/Identifier.ts";
import * as Limits from "../Limits.ts";
import { fallBehind } from "./CatchUp.ts";
import type { Draft } from "./Draft.ts";
import type { ReceivedOf } from "./Event.ts";
import type { OpenRecord } from "./State.ts";
import { follows, nextHeight, subjectOf } from "./State.ts";

type VoteKind = "action" | "durability";

/** Verifies one vote for an open record and keeps it. Votes already held cost nothing. */
const keepVote = (
  draft: Draft,
  recordHash: RecordHash,
  kind: VoteKind,
  signerAgentId: AgentId,
  signature: Ed25519Signature,
): void => {
  const record = draft.find(recordHash);
  const card = draft.inputs.members.cardOf(signerAgentId);
  if (record === undefined || card === undefined || signerAgentId in record[kind]) return;
  const subject = subjectOf(record, draft.inputs.members.conversationId);
  const statement =
    kind === "action" ? actionVoteOf(subject, signerAgentId) : durabilityVoteOf(subject, signerAgentId);
  if (!Statement.verify(draft.inputs.trust.verifier, card.signingKey, statement, signature)) {
    return draft.note("a vote's signature does not verify for the record it names");
  }
  draft.replaceOpen({ ...record, [kind]: { ...record[kind], [signerAgentId]: signature } });
  draft.progressed = true;
};

export const takeVotes = (draft: Draft, { from, laneSequence, packet }: ReceivedOf<"vote_packet">): void => {
  const { head } = draft.state;
  for (const vote of packet.actionVotes) {
    keepVote(draft, vote.recordHash, "action", vote.signerAgentId, vote.signature);
  }
  for (const vote of packet.durabilityVotes) {
    keepVote(draft, vote.recordHash, "durability", vote.signerAgentId, vote.signature);
  }
  const votes = [...packet.actionVotes, ...packet.durabilityVotes];
  const late = laneSequence !== null && head !== null && votes.some((vote) => vote.height <= head.height);
  if (late) helpStraggler(draft, from);
};

/** A member that repeats work below the head missed the notice: whoever comes first tells everybody again. */
export const helpStraggler = (draft: Draft, from: AgentId): void => {
  const { state, inputs } = draft;
  if (from === inputs.self || state.head === null || state.spread !== null) return;
  state.spread = {
    what: "certified-notice",
    recordHash: state.head.recordHash,
    at: inputs.now + Limits.spreadStepMs * inputs.members.indexOf(inputs.self),
  };
};

export const takeActionCertificate = (
  draft: Draft,
  { from, laneSequence, packet }: ReceivedOf<"action_certificate">,
): void => {
  const { state, inputs } = draft;
  const next = nextHeight(state);
  if (packet.height < next) {
    if (laneSequence !== null && packet.recordHash !== state.head?.recordHash) helpStraggler(draft, from);
    return;
  }
  if (state.spread?.what === "action-certificate" && state.spread.recordHash === packet.recordHash) {
    state.spread = null;
  }
  const record = draft.find(packet.recordHash);
  if (record !== undefined && follows(state, record)) {
    for (const { signerAgentId, signature } of packet.signatures) {
      keepVote(draft, record.recordHash, "action", signerAgentId, signature);
    }
    const { signerAgentId, signature } = packet.durabilityVote;
    keepVote(draft, record.recordHash, "durability", signerAgentId, signature);
    if (from !== inputs.self) answerCertificate(draft, record.recordHash, from);
    return;
  }
  if (!provesVotes(draft, packet)) return draft.note("an action certificate does not verify");
  if (packet.height === next) {
    if (packet.previousRecordHash !== (state.head?.recordHash ?? null)) return;
    fallBehind(draft, { height: packet.height, recordHash: packet.recordHash }, from);
    draft.unicast(from, {
      kind: "record_request",
      conversationId: inputs.members.conversationId,
      recordHash: packet.recordHash,
    });
    return;
  }
  if (packet.previousRecordHash !== null) {
    fallBehind(draft, { height: packet.height - 1, recordHash: packet.previousRecordHash }, from);
  }
};

/** A certificate is answered with this member's durability vote: the one it cast before, or the one Settle.ts casts now. */
const answerCertificate = (draft: Draft, recordHash: RecordHash, from: AgentId): void => {
  const { state, inputs } = draft;
  if (state.slot.durabilityVote === null) {
    draft.certificateFrom = from;
    return;
  }
  const record = draft.find(recordHash);
  const signature = record?.durability[inputs.self];
  if (record === undefined || signature === undefined) return;
  const subject = subjectOf(record, inputs.members.conversationId);
  draft.sendDurabilityVote(from, { ...durabilityVoteOf(subject, inputs.self), signature });
};

/** Whether a certificate for a record whose core is not held carries a quorum of true votes. */
const provesVotes = (draft: Draft, packet: ReceivedOf<"action_certificate">["packet"]): boolean => {
  const { members, trust } = draft.inputs;
  const subject: VoteSubject = packet;
  return (
    packet.signatures.length >= actionThresholdOf(members.n, packet.height) &&
    packet.signatures.every(({ signerAgentId, signature }) => {
      const card = members.cardOf(signerAgentId);
      return (
        card !== undefined &&
        Statement.verify(trust.verifier, card.signingKey, actionVoteOf(subject, signerAgentId), signature)
      );
    })
  );
};

export const takeNotice = (draft: Draft, { from, packet }: ReceivedOf<"certified_notice">): void => {
  const { state } = draft;
  if (packet.height < nextHeight(state)) {
    if (state.spread?.what === "certified-notice" && packet.recordHash === state.head?.recordHash) {
      state.spread = null;
    }
    return;
  }
  const record = draft.find(packet.recordHash);
  if (record === undefined || !follows(state, record)) {
    fallBehind(draft, { height: packet.height, recordHash: packet.recordHash }, from);
    return;
  }
  if (packet.durabilityAnchorHash !== record.anchorHash) {
    return draft.note("a notice names an anchor that was not accepted");
  }
  keepAll(draft, record, packet);
  draft.certificateSeen = true;
};

const keepAll = (
  draft: Draft,
  record: OpenRecord,
  packet: ReceivedOf<"certified_notice">["packet"],
): void => {
  for (const { signerAgentId, signature } of packet.actionSignatures) {
    keepVote(draft, record.recordHash, "action", signerAgentId, signature);
  }
  for (const { signerAgentId, signature } of packet.durabilityVotes) {
    keepVote(draft, record.recordHash, "durability", signerAgentId, signature);
  }
};
