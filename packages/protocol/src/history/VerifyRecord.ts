// The one function that decides whether a record is certified. Commit, catch-up, history reads, start-up, export and the
// offline verifier all call it, so they can never disagree. Implements HIS-60 to HIS-62.

import type { ActionHash, AnchorHash, RecordHash, SigningKey } from "../identity/Identifier.ts";
import type { Verifier } from "../identity/Signing.ts";
import type { HistoryRecord, RouterAnchor } from "./Evidence.ts";
import * as Membership from "./Membership.ts";
import { actionThresholdOf } from "./Quorum.ts";
import * as Record from "./Record.ts";
import { RecordError } from "./RecordError.ts";
import * as Statement from "./Statement.ts";

/** Where a verified chain stands: everything the next record is judged against. */
export interface ChainHead {
  readonly members: Membership.Members;
  readonly height: number;
  readonly recordHash: RecordHash;
  readonly anchorHash: AnchorHash;
}

export interface Trust {
  readonly verifier: Verifier;
  /** The pinned Registry key; a card's own word is never trusted. */
  readonly registryKey: SigningKey;
}

/** What a vote of either kind names about its record. */
export interface VoteSubject {
  readonly conversationId: Membership.Members["conversationId"];
  readonly height: number;
  readonly previousRecordHash: RecordHash | null;
  readonly anchorHash: AnchorHash;
  readonly recordHash: RecordHash;
  readonly actionHash: ActionHash;
}

export const actionVoteOf = (subject: VoteSubject, signerAgentId: Statement.ActionVote["signerAgentId"]) => ({
  kind: "action_vote" as const,
  signerAgentId,
  conversationId: subject.conversationId,
  height: subject.height,
  previousRecordHash: subject.previousRecordHash,
  anchorHash: subject.anchorHash,
  recordHash: subject.recordHash,
  actionHash: subject.actionHash,
});

export const durabilityVoteOf = (
  subject: VoteSubject,
  signerAgentId: Statement.DurabilityVote["signerAgentId"],
) => ({
  kind: "durability_vote" as const,
  signerAgentId,
  conversationId: subject.conversationId,
  height: subject.height,
  previousRecordHash: subject.previousRecordHash,
  anchorHash: subject.anchorHash,
  recordHash: subject.recordHash,
});

export const subjectOf = (recordHash: RecordHash, core: Record.RecordCore): VoteSubject => ({
  conversationId: core.action.conversationId,
  height: core.action.height,
  previousRecordHash: core.action.previousRecordHash,
  anchorHash: core.anchorHash,
  recordHash,
  actionHash: core.actionHash,
});

const genesisAnchorHash = (anchor: RouterAnchor): AnchorHash => {
  if (anchor.kind !== "genesis_anchor") {
    throw new RecordError("reanchor-unsupported", "the record stands under a completed re-anchor");
  }
  return Record.anchorHashOf(anchor);
};

/** Checks everything of a core but its certificates: hashes, membership, position, anchor, author. */
export const verifyCore = (
  trust: Trust,
  head: ChainHead | null,
  recordHash: RecordHash,
  core: Record.RecordCore,
): Membership.Members => {
  if (!Record.isConsistent(core) || Record.recordHashOf(core) !== recordHash) {
    throw new RecordError("inconsistent", "the record's hashes do not recompute");
  }
  const { action } = core;
  let members: Membership.Members;
  if (Record.isGenesis(core)) {
    if (head !== null) throw new RecordError("position", "a GENESIS stands only at the beginning of a chain");
    if (core.action.anchor.kind !== "genesis_anchor") {
      throw new RecordError("reanchor-unsupported", "the GENESIS carries a completed re-anchor");
    }
    try {
      members = Membership.verify(trust.verifier, trust.registryKey, core.membership);
    } catch {
      throw new RecordError("membership", "the membership of the GENESIS does not verify");
    }
  } else {
    if (head === null) throw new RecordError("position", "a POST has no predecessor here");
    members = head.members;
    if (
      action.conversationId !== members.conversationId ||
      action.membershipHash !== members.membershipHash
    ) {
      throw new RecordError("membership", "the record belongs to another membership");
    }
    if (action.height !== head.height + 1 || action.previousRecordHash !== head.recordHash) {
      throw new RecordError("position", "the record does not directly follow its predecessor");
    }
    if (core.anchorHash !== head.anchorHash) {
      throw new RecordError("anchor", "the record names an anchor that its chain has not accepted");
    }
  }
  if (members.cardOf(action.authorAgentId) === undefined) {
    throw new RecordError("author", "the author is not a member");
  }
  return members;
};

const verifySigners = (
  trust: Trust,
  members: Membership.Members,
  evidence: ReadonlyArray<Statement.SignerEvidence>,
  threshold: number,
  statementOf: (signer: Statement.SignerEvidence["signerAgentId"]) => Statement.Statement,
): void => {
  if (evidence.length < threshold) {
    throw new RecordError("threshold", `${evidence.length} signers where ${threshold} are needed`);
  }
  let previous = -1;
  for (const { signerAgentId, signature } of evidence) {
    const index = members.indexOf(signerAgentId);
    if (index < 0) throw new RecordError("threshold", "a signer is not a member");
    if (index <= previous) throw new RecordError("threshold", "signers are repeated or out of order");
    previous = index;
    const card = members.cards[index];
    if (
      card === undefined ||
      !Statement.verify(trust.verifier, card.signingKey, statementOf(signerAgentId), signature)
    ) {
      throw new RecordError("signature", "a signature does not verify");
    }
  }
};

/**
 * Verifies one record against its predecessor and returns the new head. Throws `RecordError`.
 * `postUsed` says whether an earlier record of this chain carries (author, postId).
 */
export const verifyNext = (
  trust: Trust,
  head: ChainHead | null,
  record: HistoryRecord,
  postUsed: (author: Record.PostIntent["authorAgentId"], postId: Record.PostIntent["postId"]) => boolean,
): ChainHead => {
  const { recordCore: core, recordHash } = record;
  if (record.durabilityAnchor !== null) {
    throw new RecordError("reanchor-unsupported", "the durability votes stand under a completed re-anchor");
  }
  const members = verifyCore(trust, head, recordHash, core);
  if (genesisAnchorHash(record.routerAnchor) !== core.anchorHash) {
    throw new RecordError("anchor", "the enclosed anchor is not the one that the record names");
  }
  const author = core.action.authorAgentId;
  if (postUsed(author, core.action.postIntent.postId)) {
    throw new RecordError("author", "the author used this post id in an earlier record");
  }
  if (!record.actionSignatures.some((entry) => entry.signerAgentId === author)) {
    throw new RecordError("threshold", "the action certificate lacks its author");
  }
  const subject = subjectOf(recordHash, core);
  const threshold = actionThresholdOf(members.n, subject.height);
  verifySigners(trust, members, record.actionSignatures, threshold, (id) => actionVoteOf(subject, id));
  verifySigners(trust, members, record.durabilityVotes, members.quorum, (id) =>
    durabilityVoteOf(subject, id),
  );
  return { members, height: subject.height, recordHash, anchorHash: core.anchorHash };
};
