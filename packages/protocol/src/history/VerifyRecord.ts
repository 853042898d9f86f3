// The one function that decides whether a record is certified. Commit, catch-up, history reads, start-up, export and the
// offline verifier all call it, so they can never disagree. Implements HIS-60 to HIS-62 and HIS-112 to HIS-115.

import type { ActionHash, AnchorHash, RecordHash, SigningKey } from "../identity/Identifier.ts";
import type { Verifier } from "../identity/Signing.ts";
import type { CompletedReanchor, HistoryRecord, RouterAnchor } from "./Evidence.ts";
import * as Membership from "./Membership.ts";
import { actionThresholdOf } from "./Quorum.ts";
import * as Reanchor from "./Reanchor.ts";
import * as Record from "./Record.ts";
import { RecordError } from "./RecordError.ts";
import * as Statement from "./Statement.ts";

/** Where a verified chain stands: everything the next record is judged against. */
export interface ChainHead {
  readonly members: Membership.Members;
  readonly height: number;
  readonly recordHash: RecordHash;
  /** The action anchor of the record at the head, and its round. */
  readonly anchorHash: AnchorHash;
  readonly round: number;
}

/** What the chain below the record under verification holds. Answers speak of certified records only. */
export interface Ancestry {
  readonly postUsed: (
    author: Record.PostIntent["authorAgentId"],
    postId: Record.PostIntent["postId"],
  ) => boolean;
  /** Where a record of the chain stands and under which action anchor; null when it is not in it. */
  readonly find: (
    recordHash: RecordHash,
  ) => { readonly height: number; readonly anchorHash: AnchorHash } | null;
  readonly hashAt: (height: number) => RecordHash | null;
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

export const carryVoteOf = (subject: VoteSubject, signerAgentId: Statement.CarryVote["signerAgentId"]) => ({
  ...durabilityVoteOf(subject, signerAgentId),
  kind: "carry_vote" as const,
});

export const subjectOf = (recordHash: RecordHash, core: Record.RecordCore): VoteSubject => ({
  conversationId: core.action.conversationId,
  height: core.action.height,
  previousRecordHash: core.action.previousRecordHash,
  anchorHash: core.anchorHash,
  recordHash,
  actionHash: core.actionHash,
});

const refuseAnchor = (message: string): never => {
  throw new RecordError("anchor", message);
};

/**
 * The laws of an action anchor: it is the predecessor's, or one of a later round that begins at an ancestor of the record
 * and whose carried record directly follows that ancestor. So rounds never fall and one round has one anchor.
 */
const verifyActionAnchor = (
  trust: Trust,
  members: Membership.Members,
  head: ChainHead | null,
  ancestry: Ancestry,
  core: Record.RecordCore,
  anchor: RouterAnchor,
): void => {
  if (Reanchor.hashOf(anchor) !== core.anchorHash) {
    refuseAnchor("the enclosed anchor is not the one that the record names");
  }
  const stays = head !== null && core.anchorHash === head.anchorHash;
  if (anchor.kind === "genesis_anchor") {
    if (head !== null && !stays) refuseAnchor("a genesis anchor comes back in a later place");
    return;
  }
  const { base, carried } = Reanchor.verify(trust, members, anchor);
  if (stays) return;
  const { round, previousAnchorHash } = anchor.body;
  if (head !== null && round < head.round) refuseAnchor("the rounds of the chain fall");
  if (head !== null && round === head.round) refuseAnchor("one round has two anchors");
  const begins =
    base === null
      ? head === null || carried !== null
      : isPlace(ancestry.find(base.recordHash), base.height, previousAnchorHash);
  if (!begins) refuseAnchor("the round does not begin at a record of this chain");
  if (carried !== null && ancestry.hashAt((base?.height ?? -1) + 1) !== carried.recordHash) {
    refuseAnchor("the record that the round carries does not follow its base");
  }
};

const isPlace = (
  place: ReturnType<Ancestry["find"]>,
  height: number,
  anchorHash: AnchorHash | null,
): boolean => place !== null && place.height === height && place.anchorHash === anchorHash;

/** The durability votes stand under the action anchor, or under a later round that carries exactly this record. */
const verifyDurabilityAnchor = (
  trust: Trust,
  members: Membership.Members,
  head: ChainHead | null,
  { recordHash }: VoteSubject,
  actionRound: number,
  anchor: CompletedReanchor,
): AnchorHash => {
  const { base, carried } = Reanchor.verify(trust, members, anchor);
  if (anchor.body.round <= actionRound) {
    refuseAnchor("the durability votes stand under a round that is not later than the action's");
  }
  if (carried?.recordHash !== recordHash) {
    refuseAnchor("the durability votes stand under a round that does not carry the record");
  }
  const begins =
    base === null || head === null
      ? base === head
      : base.recordHash === head.recordHash && isPlace(head, base.height, anchor.body.previousAnchorHash);
  if (!begins) refuseAnchor("the durability votes stand under a round that begins at another record");
  return Record.anchorHashOf(anchor.body);
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

/** Verifies one record against its predecessor and ancestry, and returns the new head. Throws `RecordError`. */
export const verifyNext = (
  trust: Trust,
  head: ChainHead | null,
  record: HistoryRecord,
  ancestry: Ancestry,
): ChainHead => {
  const { recordCore: core, recordHash, routerAnchor, durabilityAnchor } = record;
  const members = verifyCore(trust, head, recordHash, core);
  verifyActionAnchor(trust, members, head, ancestry, core, routerAnchor);
  const author = core.action.authorAgentId;
  if (ancestry.postUsed(author, core.action.postIntent.postId)) {
    throw new RecordError("author", "the author used this post id in an earlier record");
  }
  if (!record.actionSignatures.some((entry) => entry.signerAgentId === author)) {
    throw new RecordError("threshold", "the action certificate lacks its author");
  }
  const subject = subjectOf(recordHash, core);
  const { round } = Reanchor.bodyOf(routerAnchor);
  const durability: VoteSubject =
    durabilityAnchor === null
      ? subject
      : {
          ...subject,
          anchorHash: verifyDurabilityAnchor(trust, members, head, subject, round, durabilityAnchor),
        };
  const threshold = actionThresholdOf(members.n, subject.height);
  verifySigners(trust, members, record.actionSignatures, threshold, (id) => actionVoteOf(subject, id));
  verifySigners(trust, members, record.durabilityVotes, members.quorum, (id) =>
    durabilityVoteOf(durability, id),
  );
  return { members, height: subject.height, recordHash, anchorHash: core.anchorHash, round };
};
