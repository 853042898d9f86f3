// The signatures that a packet brings and that its conversation will ask about, as far as the packet alone says what was
// signed: for whoever can verify them before its turn comes. Only what every post needs; the rest is rare.
// Implements HIS-119.

import * as Record from "../history/Record.ts";
import type * as Statement from "../history/Statement.ts";
import { actionVoteOf, durabilityVoteOf, subjectOf } from "../history/VerifyRecord.ts";
import type { AgentId, Ed25519Signature } from "../identity/Identifier.ts";
import type { Packet, ProposalPacket } from "./Packet.ts";

/** Somebody is said to have signed something. */
export interface Claim {
  readonly signerAgentId: AgentId;
  readonly statement: Statement.Statement;
  readonly signature: Ed25519Signature;
}

const ofProposal = ({ recordCore, authorSignature, actionVote }: ProposalPacket): ReadonlyArray<Claim> => {
  const { actionHash, action } = recordCore;
  const { authorAgentId } = action;
  const proposal: Claim = {
    signerAgentId: authorAgentId,
    statement: { kind: "proposal", authorAgentId, actionHash },
    signature: authorSignature,
  };
  if (actionVote === undefined) return [proposal];
  const subject = subjectOf(Record.recordHashOf(recordCore), recordCore);
  return [proposal, { ...actionVote, statement: actionVoteOf(subject, actionVote.signerAgentId) }];
};

export const claimsIn = (packet: Packet): ReadonlyArray<Claim> => {
  switch (packet.kind) {
    case "proposal_packet":
      return ofProposal(packet);
    case "vote_packet":
      return [...packet.actionVotes, ...packet.durabilityVotes].map(({ signature, ...statement }) => ({
        signerAgentId: statement.signerAgentId,
        statement,
        signature,
      }));
    case "action_certificate": {
      const { signatures, durabilityVote, ...subject } = packet;
      return [
        ...signatures.map((entry) => ({ ...entry, statement: actionVoteOf(subject, entry.signerAgentId) })),
        { ...durabilityVote, statement: durabilityVoteOf(subject, durabilityVote.signerAgentId) },
      ];
    }
    case "certified_notice":
    case "catch_up_request":
    case "catch_up_page":
    case "record_request":
    case "record_response":
    case "refusal":
    case "withdrawal":
    case "wish":
    case "statement_packet":
    case "completed_reanchor":
    case "equivocation_proof":
      return [];
  }
};
