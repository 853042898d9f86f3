// Certified conversations of any size for the vectors: who the members are, and records signed by exactly whom a case needs.
// Makes what it is told to, true or not; the verifiers judge.

import type { Content } from "@social-harness/protocol/history/Content";
import { type HistoryRecord, sorted } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { PostId, type RecordHash, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import { seeded } from "./Family.ts";
import { type Person, person } from "./People.ts";

export interface Cast {
  /** In the order of the membership. */
  readonly people: ReadonlyArray<Person>;
  readonly members: Membership.Members;
  readonly anchor: Record.GenesisAnchor;
}

/** A chain under the name by which negative cases refer to it. */
export interface NamedChain {
  readonly name: string;
  readonly cast: Cast;
  readonly records: ReadonlyArray<HistoryRecord>;
}

export const routerInstanceId = RouterInstanceId.fromBytes(seeded("router instance", 16));

export const castOf = (people: ReadonlyArray<Person>): Cast => {
  const members = Membership.ofCards(people.map(({ card }) => card));
  return {
    people: members.ids.map((id) => people.find(({ card }) => card.agentId === id) as Person),
    members,
    anchor: {
      kind: "genesis_anchor",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      round: 0,
      routerInstanceId,
    },
  };
};

export const castOfSize = (n: number): Cast =>
  castOf(Array.from({ length: n }, (_, i) => person(`agent-${String(i).padStart(2, "0")}`)));

export const member = (cast: Cast, index: number): Person =>
  cast.people[index % cast.people.length] as Person;

export const intentOf = (
  cast: Cast,
  author: Person,
  postId: string,
  content: Content,
): Record.PostIntent => ({
  kind: "post_intent",
  conversationId: cast.members.conversationId,
  membershipHash: cast.members.membershipHash,
  authorAgentId: author.card.agentId,
  postId: PostId.fromBytes(seeded(`post ${postId}`)),
  content,
});

export interface Position {
  readonly height: number;
  readonly recordHash: RecordHash;
}

export const coreOf = (
  cast: Cast,
  intent: Record.PostIntent,
  previous: Position | null,
): Record.RecordCore =>
  previous === null
    ? Record.genesisCore(cast.members.membership, intent, cast.anchor)
    : Record.postCore(intent, {
        height: previous.height + 1,
        previousRecordHash: previous.recordHash,
        anchorHash: Record.anchorHashOf(cast.anchor),
      });

export const signedBy = (
  people: ReadonlyArray<Person>,
  statementOf: (id: Person["card"]["agentId"]) => Statement.Statement,
): HistoryRecord["actionSignatures"] =>
  sorted(
    people.map(({ signer, card }) => ({
      signerAgentId: card.agentId,
      signature: Statement.sign(signer, statementOf(card.agentId)),
    })),
  );

export interface Signers {
  readonly action: ReadonlyArray<Person>;
  readonly durability: ReadonlyArray<Person>;
}

/** A core with both certificates; by default everybody has signed. */
export const certified = (
  cast: Cast,
  core: Record.RecordCore,
  { action, durability }: Signers = { action: cast.people, durability: cast.people },
): HistoryRecord => {
  const recordHash = Record.recordHashOf(core);
  const subject = VerifyRecord.subjectOf(recordHash, core);
  return {
    recordHash,
    recordCore: core,
    routerAnchor: cast.anchor,
    durabilityAnchor: null,
    actionSignatures: signedBy(action, (id) => VerifyRecord.actionVoteOf(subject, id)),
    durabilityVotes: signedBy(durability, (id) => VerifyRecord.durabilityVoteOf(subject, id)),
  };
};

export const positionOf = (record: HistoryRecord): Position => ({
  height: record.recordCore.action.height,
  recordHash: record.recordHash,
});

/** The author and the members after it, as many as a certificate needs at least. */
export const leastSigners = (cast: Cast, authorIndex: number, threshold: number): ReadonlyArray<Person> =>
  Array.from({ length: threshold }, (_, i) => member(cast, authorIndex + i));

/** A chain whose POSTs carry exactly their thresholds' signatures; authors take turns. */
export const chainOf = (cast: Cast, contents: ReadonlyArray<Content>): ReadonlyArray<HistoryRecord> => {
  const records: Array<HistoryRecord> = [];
  contents.forEach((content, height) => {
    const previous = records.at(-1);
    const intent = intentOf(cast, member(cast, height), `${cast.people.length} members, ${height}`, content);
    const least = leastSigners(cast, height, cast.members.quorum);
    records.push(
      certified(cast, coreOf(cast, intent, previous === undefined ? null : positionOf(previous)), {
        action: height === 0 ? cast.people : least,
        durability: least,
      }),
    );
  });
  return records;
};
