import { expect } from "vitest";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { hash } from "@social-harness/protocol/encoding/Hash";
import * as Evidence from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import {
  compareAgentIds,
  ConversationId,
  PostIntentHash,
} from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { otherRegistry, person, registry } from "../../../../tools/vectors/People.ts";

const cast = Conversations.castOfSize(5);
const membershipOf = (members: ReadonlyArray<AgentCard.EncodedAgentCard>): Membership.Membership => ({
  kind: "membership",
  conversationId: Membership.conversationIdOf(members.map((card) => AgentCard.decode(card).agentId)),
  members,
});
const decodeMembership = Closed.decoder(Membership.schema);
const verify = (membership: Membership.Membership): Membership.Members =>
  Membership.verify(Ed25519.verifier, registry.publicKey, decodeMembership(membership));
const { members: encoded } = cast.members.membership;

verifies(
  "HIS-02",
  "the conversation id is the hash of the ids in order of their bytes, whoever is named first",
  () => {
    const ids = cast.people.map(({ card }) => card.agentId).toSorted(compareAgentIds);
    const expected = ConversationId.fromBytes(
      hash("conversation", { kind: "conversation_identity", memberAgentIds: ids }),
    );
    expect(cast.members.conversationId).toBe(expected);
    expect(Membership.ofCards(cast.people.map(({ card }) => card).toReversed()).conversationId).toBe(
      expected,
    );
    expect(Conversations.castOfSize(4).members.conversationId).not.toBe(expected);
  },
);

verifies(["HIS-02", "HIS-03"], "another order, a repetition, and numbers outside 2 to 32 are refused", () => {
  expect(verify(cast.members.membership).ids).toEqual(cast.members.ids);
  for (const members of [
    encoded.toReversed(),
    encoded.with(0, encoded[1] as AgentCard.EncodedAgentCard),
    [],
  ]) {
    expect(() => verify(membershipOf(members))).toThrow(DecodeError);
  }
  expect(() => verify(membershipOf(encoded.slice(0, 1)))).toThrow(DecodeError);
  expect(verify(Conversations.castOfSize(2).members.membership).n).toBe(2);
  expect(verify(Conversations.castOfSize(32).members.membership).n).toBe(32);
  expect(() => verify(Conversations.castOfSize(33).members.membership)).toThrow(DecodeError);
});

verifies("HIS-03", "a repeated name, a foreign card and another conversation's id are refused", () => {
  const twin = person("twin");
  const keys: AgentCard.AgentKeys = { ...twin.keys, agentName: Conversations.member(cast, 0).card.agentName };
  const sameName = AgentCard.issue(registry, keys, AgentCard.signKeys(twin.signer, keys), twin.card.issuedAt);
  const cards = cast.people.map(({ card }) => card);
  expect(() => verify(Membership.ofCards([...cards, sameName]).membership)).toThrow(DecodeError);
  const foreign = person("foreigner", otherRegistry).card;
  expect(() => verify(Membership.ofCards([...cards, foreign]).membership)).toThrow(DecodeError);
  const { conversationId } = Conversations.castOfSize(4).members;
  expect(() => verify({ ...cast.members.membership, conversationId })).toThrow(DecodeError);
});

const author = Conversations.member(cast, 0);
const intent = Conversations.intentOf(cast, author, "values", [{ type: "text", text: "hello" }]);

verifies("HIS-05", "a change of any field of an intent is another PostIntentHash", () => {
  const other = Conversations.castOfSize(4);
  const changes: ReadonlyArray<Partial<Record.PostIntent>> = [
    { conversationId: other.members.conversationId },
    { membershipHash: other.members.membershipHash },
    { authorAgentId: Conversations.member(cast, 1).card.agentId },
    { postId: Conversations.intentOf(cast, author, "another", intent.content).postId },
    { content: [{ type: "text", text: "hello " }] },
  ];
  const hashes = [intent, ...changes.map((change) => ({ ...intent, ...change }))].map(
    Record.postIntentHashOf,
  );
  expect(new Set(hashes).size).toBe(changes.length + 1);
  expect(hashes[0]).toBe(PostIntentHash.fromBytes(hash("post-intent", intent)));
});

const genesis = Record.genesisCore(cast.members.membership, intent, cast.anchor);
const position = {
  height: 1,
  previousRecordHash: Record.recordHashOf(genesis),
  anchorHash: genesis.anchorHash,
};
const post = Record.postCore(intent, position);
const decodeCore = Closed.decoder(Record.RecordCore);
const isCore = (value: Json): boolean => {
  try {
    decodeCore(value);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return false;
  }
};

verifies(
  "HIS-06",
  "a GENESIS has height 0, no predecessor, its whole anchor and the whole membership",
  () => {
    expect(genesis.action).toMatchObject({
      kind: "genesis",
      height: 0,
      previousRecordHash: null,
      anchor: cast.anchor,
    });
    expect(genesis.membership).toEqual(cast.members.membership);
    expect(isCore(genesis)).toBe(true);
    const { membership: _, ...without } = genesis;
    const { anchor, ...action } = genesis.action;
    const bad: ReadonlyArray<Json> = [
      { ...genesis, action: { ...genesis.action, height: 1 } },
      { ...genesis, action: { ...genesis.action, previousRecordHash: position.previousRecordHash } },
      { ...without, membershipHash: cast.members.membershipHash },
      { ...genesis, action: { ...action, anchorHash: Record.anchorHashOf(anchor) } },
    ];
    for (const core of bad) expect(isCore(core)).toBe(false);
  },
);

verifies(
  "HIS-07",
  "a POST names height, predecessor, anchor and membership by hash, and carries none whole",
  () => {
    expect(post.action).toMatchObject(position);
    expect(post.membershipHash).toBe(cast.members.membershipHash);
    expect(isCore(post)).toBe(true);
    const { membershipHash: _, ...without } = post;
    const { anchorHash: __, ...action } = post.action;
    const bad: ReadonlyArray<Json> = [
      { ...post, action: { ...post.action, height: 0 } },
      { ...post, action: { ...post.action, height: 1.5 } },
      { ...post, action: { ...post.action, previousRecordHash: null } },
      { ...without, membership: cast.members.membership },
      { ...post, action: { ...action, anchor: cast.anchor } },
    ];
    for (const core of bad) expect(isCore(core)).toBe(false);
  },
);

verifies(
  "HIS-08",
  "two members with different signers hold one record under one hash, and digests of their own",
  () => {
    const byAll = Conversations.certified(cast, post);
    const least = Conversations.leastSigners(cast, 0, cast.members.quorum);
    const byLeast = Conversations.certified(cast, post, { action: least, durability: least });
    expect(byLeast.recordHash).toBe(byAll.recordHash);
    expect(byLeast.actionSignatures.length).toBeLessThan(byAll.actionSignatures.length);
    const digestOf = ({ recordHash: _, recordCore: __, ...evidence }: Evidence.HistoryRecord): string =>
      Evidence.digestOf(evidence);
    expect(digestOf(byLeast)).not.toBe(digestOf(byAll));
  },
);

verifies("HIS-09", "a vote names all that identifies its record, and nothing of its content", () => {
  const recordHash = Record.recordHashOf(post);
  const subject = VerifyRecord.subjectOf(recordHash, post);
  const place = {
    signerAgentId: author.card.agentId,
    conversationId: cast.members.conversationId,
    ...position,
    recordHash,
  };
  expect(VerifyRecord.durabilityVoteOf(subject, author.card.agentId)).toEqual({
    kind: "durability_vote",
    ...place,
  });
  expect(VerifyRecord.actionVoteOf(subject, author.card.agentId)).toEqual({
    kind: "action_vote",
    ...place,
    actionHash: post.actionHash,
  });
});
