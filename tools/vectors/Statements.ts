// One signature for each kind of statement that a member signs, and the ways in which a signature of one statement must
// not pass for another's.

import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Conversations from "./Conversations.ts";
import { type Files, json } from "./Family.ts";
import { four } from "./Records.ts";

const record = four.records[1] as HistoryRecord;
const { members } = four.cast;
const signer = Conversations.member(four.cast, 2);
const signerAgentId = signer.card.agentId;
const subject = VerifyRecord.subjectOf(record.recordHash, record.recordCore);
const place = {
  conversationId: members.conversationId,
  round: 1,
  routerInstanceId: Conversations.routerInstanceId,
};
const { actionHash } = subject;

export const statements: ReadonlyArray<Statement.Statement> = [
  { kind: "proposal", authorAgentId: signerAgentId, actionHash },
  VerifyRecord.actionVoteOf(subject, signerAgentId),
  VerifyRecord.durabilityVoteOf(subject, signerAgentId),
  { ...VerifyRecord.durabilityVoteOf(subject, signerAgentId), kind: "carry_vote" },
  { ...VerifyRecord.durabilityVoteOf(subject, signerAgentId), height: 0, previousRecordHash: null },
  { kind: "wish", signerAgentId, ...place },
  {
    kind: "reanchor_statement",
    signerAgentId,
    membershipHash: members.membershipHash,
    ...place,
    head: null,
    prepared: null,
  },
  {
    kind: "reanchor_statement",
    signerAgentId,
    membershipHash: members.membershipHash,
    ...place,
    head: { recordHash: record.recordHash, height: 1 },
    prepared: { recordHash: record.recordHash, height: 2, round: 0 },
  },
  { kind: "refusal", signerAgentId, actionHash, reason: "contact-policy" },
  { kind: "withdrawal", authorAgentId: signerAgentId, actionHash },
];

const signed = (statement: Statement.Statement) => ({
  artifact: statement.kind.replaceAll("_", "-"),
  statement,
  publicKey: signer.signer.publicKey,
  signature: Statement.sign(signer.signer, statement),
});

export const files = (): Files => {
  const accepted = statements.map(signed);
  return new Map([
    [
      "statements.json",
      json({
        about:
          "Each of `accepted` is a statement signed under the artifact of its kind. Each of `refused` carries the signature of " +
          "a statement beside it, and does not verify.",
        accepted,
        refused: accepted.flatMap((entry, i) => {
          const next = accepted[(i + 1) % accepted.length] as typeof entry;
          return [
            { ...entry, name: "the signature of another statement", signature: next.signature },
            {
              ...entry,
              name: "another artifact",
              artifact: next.artifact === entry.artifact ? "vote" : next.artifact,
            },
            {
              ...entry,
              name: "another signer's key",
              publicKey: Conversations.member(four.cast, 3).signer.publicKey,
            },
          ];
        }),
      }),
    ],
  ]);
};
