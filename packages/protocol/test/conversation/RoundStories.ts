// What stories about rounds are told with: wishes, statements with their proofs and re-anchors made by hand, true unless
// changed, and what a member says when it is given them alone.

import { certifiedBy, genesisAnchorOf } from "@social-harness/testkit/simulation/Certify";
import type { Member } from "@social-harness/testkit/simulation/FoldWorld";
import type {
  Packet,
  PacketKind,
  PacketOf,
  StatementPacket,
} from "@social-harness/protocol/conversation/Packet";
import {
  type CompletedReanchor,
  type HistoryRecord,
  sorted,
} from "@social-harness/protocol/history/Evidence";
import { actionThresholdOf } from "@social-harness/protocol/history/Quorum";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { carryVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import { proposalOf, type Scenario } from "./Scenario.ts";

export const wishOf = (story: Scenario, name: string, round: number): PacketOf<"wish"> => {
  const { id, signer } = story.at(name);
  const { conversationId } = story.world.members;
  const { routerInstanceId } = story.world;
  const wish = { kind: "wish" as const, signerAgentId: id, conversationId, round, routerInstanceId };
  return { ...wish, signature: Statement.sign(signer, wish) };
};

/** A post by `author` above the head of `author`, with the certificate that the named members make. */
export const preparedBy = (
  story: Scenario,
  author: string,
  text: string,
  signers: ReadonlyArray<string>,
): HistoryRecord =>
  certifiedBy(
    signers.map((name) => story.at(name)),
    proposalOf(story, author, text).recordCore,
    genesisAnchorOf(story.world),
  );

/** The action certificate of a record as proofs carry it, by its first signers. */
export const certificateOf = (
  { world }: Scenario,
  { recordHash, recordCore, actionSignatures }: HistoryRecord,
): NonNullable<StatementPacket["preparedProof"]>["action"] => {
  const { action, actionHash, anchorHash } = recordCore;
  return {
    recordHash,
    actionHash,
    height: action.height,
    previousRecordHash: action.previousRecordHash,
    anchorHash,
    signatures: actionSignatures.slice(0, actionThresholdOf(world.members.n, action.height)),
  };
};

export const preparedProofOf = (
  story: Scenario,
  record: HistoryRecord,
): NonNullable<StatementPacket["preparedProof"]> => ({
  action: certificateOf(story, record),
  anchor: Reanchor.bodyOf(record.routerAnchor),
  carry: null,
});

const headProofOf = (story: Scenario, head: HistoryRecord): NonNullable<StatementPacket["headProof"]> => ({
  action: certificateOf(story, head),
  durabilityAnchorHash: Reanchor.hashOf(head.durabilityAnchor ?? head.routerAnchor),
  durabilityVotes: head.durabilityVotes.slice(0, story.world.members.quorum),
});

/** What a member of `n` with these claims says; `proofs` and `claims` replace what would be true of its disk. */
export const statementOf = (
  story: Scenario,
  name: string,
  round: number,
  claims: Partial<Statement.ReanchorStatement> = {},
  proofs: Partial<Pick<StatementPacket, "headProof" | "preparedProof">> = {},
): StatementPacket => {
  const { id, signer, disk } = story.at(name);
  const { conversationId, membershipHash } = story.world.members;
  const head = disk.records.at(-1) ?? null;
  const statement: Statement.ReanchorStatement = {
    kind: "reanchor_statement",
    signerAgentId: id,
    conversationId,
    membershipHash,
    round,
    routerInstanceId: story.world.routerInstanceId,
    head: head === null ? null : { recordHash: head.recordHash, height: head.recordCore.action.height },
    prepared: null,
    ...claims,
  };
  return {
    kind: "statement_packet",
    statement,
    signature: Statement.sign(signer, statement),
    headProof: head === null ? null : headProofOf(story, head),
    preparedProof: null,
    ...proofs,
  };
};

/** A statement that names a record as prepared in the round of its own anchor, with the proof. */
export const statementWith = (
  story: Scenario,
  name: string,
  round: number,
  record: HistoryRecord,
  claimed: Partial<NonNullable<Statement.ReanchorStatement["prepared"]>> = {},
): StatementPacket => {
  const { height } = record.recordCore.action;
  const prepared = {
    recordHash: record.recordHash,
    height,
    round: Reanchor.bodyOf(record.routerAnchor).round,
    ...claimed,
  };
  return statementOf(story, name, round, { prepared }, { preparedProof: preparedProofOf(story, record) });
};

/** The re-anchor that these statements complete. */
export const reanchorOf = (
  story: Scenario,
  packets: ReadonlyArray<StatementPacket>,
  change: Partial<Record.ReanchorBody> = {},
): CompletedReanchor => {
  const { members, routerInstanceId } = story.world;
  const statements = packets
    .map(({ statement, signature }) => ({ ...statement, signature }))
    .sort((left, right) => members.indexOf(left.signerAgentId) - members.indexOf(right.signerAgentId));
  const { base, carried } = Reanchor.decide(statements) ?? { base: null, carried: null };
  const below = story.world.all
    .flatMap(({ disk }) => disk.records)
    .find(({ recordHash }) => recordHash === base?.recordHash);
  const body: Record.ReanchorBody = {
    kind: "reanchor_body",
    conversationId: members.conversationId,
    membershipHash: members.membershipHash,
    round: statements[0]?.round ?? 1,
    routerInstanceId,
    previousAnchorHash: below?.recordCore.anchorHash ?? null,
    baseRecordHash: base?.recordHash ?? null,
    carriedRecordHash: carried?.recordHash ?? null,
    ...change,
  };
  return { kind: "completed_reanchor", body, statements };
};

/** Carry votes of the named members for a record under the body that carries it. */
export const carryVotesOf = (
  story: Scenario,
  { recordHash, recordCore }: HistoryRecord,
  body: Record.ReanchorBody,
  signers: ReadonlyArray<string>,
): ReadonlyArray<Statement.SignerEvidence> => {
  const subject = { ...subjectOf(recordHash, recordCore), anchorHash: Record.anchorHashOf(body) };
  return sorted(
    signers.map((name) => {
      const { id, signer } = story.at(name);
      return { signerAgentId: id, signature: Statement.sign(signer, carryVoteOf(subject, id)) };
    }),
  );
};

export const responseOf = ({
  recordCore,
  routerAnchor,
  actionSignatures,
}: HistoryRecord): PacketOf<"record_response"> => ({
  kind: "record_response",
  recordCore,
  routerAnchor,
  actionSignatures,
});

/** What a member has to say since the last call; nobody else hears it. */
export const saidBy = (story: Scenario, name: string): ReadonlyArray<Packet> => {
  const member = story.at(name);
  const packets = member.disk.outbox.flatMap((outgoing) => outgoing.packets);
  member.disk = { ...member.disk, outbox: [] };
  return packets;
};

export const kindsSaidBy = (story: Scenario, name: string): ReadonlyArray<PacketKind> =>
  saidBy(story, name).map(({ kind }) => kind);

/** The rounds of the wishes among some packets. */
export const wishesIn = (packets: ReadonlyArray<Packet>): ReadonlyArray<number> =>
  packets.flatMap((packet) => (packet.kind === "wish" ? [packet.round] : []));

export const statementsIn = (packets: ReadonlyArray<Packet>): ReadonlyArray<StatementPacket> =>
  packets.flatMap((packet) => (packet.kind === "statement_packet" ? [packet] : []));

export const roundOf = ({ disk }: Member): number => disk.state.anchor?.round ?? 0;

/** Time passes for one member alone. */
export const wait = ({ world, at }: Scenario, name: string, ms: number): void => {
  world.now += ms;
  world.feed(at(name).index, { kind: "tick" });
};

/** Every member asks for the next round, and it begins. */
export const nextRound = (story: Scenario): void => {
  const before = Math.max(...story.world.all.map(roundOf));
  for (const { index, up } of story.world.all) if (up) story.world.feed(index, { kind: "wish-round" });
  story.run(0);
  const present = story.world.all.filter(({ up }) => up);
  if (present.some((member) => roundOf(member) !== before + 1)) throw new Error("the round did not change");
};
