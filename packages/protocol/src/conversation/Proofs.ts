// What makes a statement believable: the certificates that travel with it, made from what is on this disk and checked
// against the members' keys. A claim that they do not bear out counts for nothing. Implements HIS-73.

import { actionThresholdOf } from "../history/Quorum.ts";
import * as Reanchor from "../history/Reanchor.ts";
import * as Record from "../history/Record.ts";
import * as Statement from "../history/Statement.ts";
import { actionVoteOf, carryVoteOf, durabilityVoteOf, type VoteSubject } from "../history/VerifyRecord.ts";
import type { AgentId } from "../identity/Identifier.ts";
import { entriesOf, mapOf } from "./Certificates.ts";
import type { Draft } from "./Draft.ts";
import type { Certificate, StatementPacket } from "./Packet.ts";
import type { OpenRecord, SignerMap } from "./State.ts";

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

type HeadRecord = NonNullable<ReturnType<Draft["headRecord"]>>;

export const headProofOf = ({ inputs }: Draft, head: HeadRecord): StatementPacket["headProof"] => {
  const { action, actionHash, anchorHash } = head.recordCore;
  return {
    action: {
      recordHash: head.recordHash,
      actionHash,
      height: action.height,
      previousRecordHash: action.previousRecordHash,
      anchorHash,
      signatures: exactly(
        mapOf(head.actionSignatures),
        actionThresholdOf(inputs.members.n, action.height),
        action.authorAgentId,
      ),
    },
    durabilityAnchorHash: Reanchor.hashOf(head.durabilityAnchor ?? head.routerAnchor),
    durabilityVotes: exactly(mapOf(head.durabilityVotes), inputs.members.quorum),
  };
};

export const preparedProofOf = (draft: Draft, record: OpenRecord): StatementPacket["preparedProof"] => ({
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
export const isProven = (draft: Draft, { statement, headProof, preparedProof }: StatementPacket): boolean =>
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
