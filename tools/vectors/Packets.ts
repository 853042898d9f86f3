// One or more packets of each kind that members exchange, and every way to spell them wrong: a member missing or in excess,
// a value of another type in each place, evidence out of order.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { CompletedReanchor, HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import * as Changes from "./Changes.ts";
import * as Conversations from "./Conversations.ts";
import { type Files, json, seeded } from "./Family.ts";
import { two } from "./Records.ts";

const { cast, records } = two;
const [genesis, post] = records as readonly [HistoryRecord, HistoryRecord];
const author = Conversations.member(cast, 0);
const peer = Conversations.member(cast, 1);
const { conversationId, membershipHash } = cast.members;
const subject = VerifyRecord.subjectOf(post.recordHash, post.recordCore);
const { routerInstanceId } = Conversations;

const laneHead = (label: string): Opaque32 => Opaque32.fromBytes(seeded(label));

const proposalSignature = (record: HistoryRecord) =>
  Statement.sign(author.signer, {
    kind: "proposal",
    authorAgentId: author.card.agentId,
    actionHash: record.recordCore.actionHash,
  });

const withSignature = <S extends Statement.Statement>(statement: S) => ({
  ...statement,
  signature: Statement.sign(peer.signer, statement),
});

const certifiedRecord = ({ recordHash: _, ...record }: HistoryRecord) => ({
  kind: "certified_record" as const,
  ...record,
});

const reanchor: CompletedReanchor = {
  kind: "completed_reanchor",
  body: {
    kind: "reanchor_body",
    conversationId,
    membershipHash,
    round: 1,
    routerInstanceId,
    previousAnchorHash: Record.anchorHashOf(cast.anchor),
    baseRecordHash: genesis.recordHash,
    carriedRecordHash: null,
  },
  statements: cast.people.map(({ signer, card }) => {
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: card.agentId,
      conversationId,
      membershipHash,
      round: 1,
      routerInstanceId,
      head: { recordHash: genesis.recordHash, height: 0 },
      prepared: null,
    };
    return { ...statement, signature: Statement.sign(signer, statement) };
  }),
};

const entry = (record: HistoryRecord, signers: "actionSignatures" | "durabilityVotes") =>
  record[signers][0] as Statement.SignerEvidence;

const certificate = {
  recordHash: post.recordHash,
  actionHash: post.recordCore.actionHash,
  height: 1,
  previousRecordHash: genesis.recordHash,
  anchorHash: post.recordCore.anchorHash,
  signatures: post.actionSignatures,
};
const [stated] = reanchor.statements as readonly [CompletedReanchor["statements"][number]];
const { signature: statementSignature, ...statement } = stated;

const packets: ReadonlyArray<Packet> = [
  {
    kind: "proposal_packet",
    recordCore: genesis.recordCore,
    authorSignature: proposalSignature(genesis),
    actionVote: entry(genesis, "actionSignatures"),
  },
  { kind: "proposal_packet", recordCore: post.recordCore, authorSignature: proposalSignature(post) },
  {
    kind: "vote_packet",
    actionVotes: [withSignature(VerifyRecord.actionVoteOf(subject, peer.card.agentId))],
    durabilityVotes: [withSignature(VerifyRecord.durabilityVoteOf(subject, peer.card.agentId))],
    carryVotes: [
      withSignature({
        ...VerifyRecord.durabilityVoteOf(subject, peer.card.agentId),
        kind: "carry_vote" as const,
      }),
    ],
  },
  {
    kind: "action_certificate",
    conversationId,
    recordHash: post.recordHash,
    actionHash: post.recordCore.actionHash,
    height: 1,
    previousRecordHash: genesis.recordHash,
    anchorHash: post.recordCore.anchorHash,
    signatures: post.actionSignatures,
    durabilityVote: entry(post, "durabilityVotes"),
  },
  {
    kind: "certified_notice",
    conversationId,
    recordHash: post.recordHash,
    height: 1,
    durabilityAnchorHash: post.recordCore.anchorHash,
    actionSignatures: post.actionSignatures,
    durabilityVotes: post.durabilityVotes,
  },
  { kind: "catch_up_request", conversationId, knownRecordHash: null, knownAnchorHash: null },
  {
    kind: "catch_up_request",
    conversationId,
    knownRecordHash: genesis.recordHash,
    knownAnchorHash: post.recordCore.anchorHash,
  },
  {
    kind: "catch_up_page",
    conversationId,
    afterRecordHash: genesis.recordHash,
    items: [certifiedRecord(post)],
    hasMore: false,
  },
  { kind: "record_request", conversationId, recordHash: post.recordHash },
  {
    kind: "record_response",
    recordCore: post.recordCore,
    routerAnchor: cast.anchor,
    actionSignatures: post.actionSignatures,
  },
  withSignature<Statement.Refusal>({
    kind: "refusal",
    signerAgentId: peer.card.agentId,
    actionHash: post.recordCore.actionHash,
    reason: "withdrawn",
  }),
  withSignature<Statement.Withdrawal>({
    kind: "withdrawal",
    authorAgentId: peer.card.agentId,
    actionHash: post.recordCore.actionHash,
  }),
  withSignature<Statement.Wish>({
    kind: "wish",
    signerAgentId: peer.card.agentId,
    conversationId,
    round: 1,
    routerInstanceId,
  }),
  reanchor,
  {
    kind: "statement_packet",
    statement,
    signature: statementSignature,
    headProof: null,
    preparedProof: null,
  },
  {
    kind: "statement_packet",
    statement: {
      ...statement,
      head: { recordHash: post.recordHash, height: 1 },
      prepared: { recordHash: post.recordHash, height: 1, round: 1 },
    },
    signature: statementSignature,
    headProof: {
      action: certificate,
      durabilityAnchorHash: post.recordCore.anchorHash,
      durabilityVotes: post.durabilityVotes,
    },
    preparedProof: {
      action: certificate,
      anchor: cast.anchor,
      carry: { anchor: reanchor.body, carryVotes: post.durabilityVotes },
    },
  },
  {
    kind: "equivocation_proof",
    conversationId,
    routerInstanceId,
    lane: laneHead("lane"),
    sequence: 7,
    heads: ["one head", "another head"].map((label) => ({
      laneHead: laneHead(label),
      signature: statementSignature,
    })),
  },
];

const nullable = new Set(["head", "prepared", "headProof", "preparedProof", "carry"]);

/** The few changes that leave a packet well-formed: what is optional, nullable, or free text. */
const leavesValid = (packet: Packet, change: Changes.Change): boolean => {
  const last = change.path.at(-1);
  if ("remove" in change) return packet.kind === "proposal_packet" && change.path.join(".") === "actionVote";
  if (change.value === "") return last === "text" && change.path.includes("content");
  return change.value === null && nullable.has(last as string);
};

const misordered = (): ReadonlyArray<{ packet: number } & Changes.Change> =>
  packets.flatMap((packet, index) =>
    Object.entries(packet)
      .filter(
        ([field]) =>
          ["signatures", "actionSignatures", "durabilityVotes"].includes(field) &&
          packet.kind !== "vote_packet",
      )
      .flatMap(([field, value]) => {
        const list = value as ReadonlyArray<Json>;
        const at = { packet: index, path: [field] };
        return [
          { ...at, name: `${field} out of order`, value: list.toReversed() },
          { ...at, name: `${field} with a signer twice`, value: [list[0] as Json, ...list] },
          { ...at, name: `${field} empty`, value: [] },
        ];
      }),
  );

const other: ReadonlyArray<{ readonly name: string; readonly value: Json }> = [
  { name: "null", value: null },
  { name: "a list", value: [] },
  { name: "no kind", value: {} },
  { name: "an unknown kind", value: { kind: "certified_recordx" } },
  { name: "a value that is no packet", value: certifiedRecord(post) as Json },
  {
    name: "a statement that is no packet",
    value: { kind: "proposal", authorAgentId: author.card.agentId, actionHash: post.recordCore.actionHash },
  },
  { name: "a kind from the prototype", value: { kind: "constructor" } },
  { name: "a kind that is a list", value: { kind: ["wish"] } },
];

export const files = (): Files =>
  new Map([
    [
      "packets.json",
      json({
        about:
          "Each of `accepted` is the JSON of a packet and decodes. Each of `refused` is one of them (`packet` is its index) with " +
          "one change (`path`, then `value`, or `remove`), or a `value` of its own, and does not. Signatures are not judged here.",
        accepted: packets,
        refused: [
          ...packets.flatMap((packet, index) =>
            [...Changes.changedShapes(packet as Json), ...Changes.changedTypes(packet as Json)]
              .filter((change) => !leavesValid(packet, change))
              .map((change) => ({ packet: index, ...change })),
          ),
          ...misordered(),
          ...other,
        ],
      }),
    ],
  ]);
