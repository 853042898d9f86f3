// Records that are well-formed, hashed and signed by everyone the case needs, and still break one law of the chain each.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { Content } from "@social-harness/protocol/history/Content";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import type { RecordReason } from "@social-harness/protocol/history/RecordError";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { ConversationId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Conversations from "./Conversations.ts";
import { seeded } from "./Family.ts";
import { issuedAt, otherRegistry, type Person, person, registry } from "./People.ts";

/** `decode` is the refusal of the closed shape; the rest are the reasons of the verification function. */
interface Refused {
  readonly chain: string;
  readonly height: number;
  readonly name: string;
  readonly reason: RecordReason | "decode";
  readonly record: HistoryRecord;
}

interface Changed extends Omit<Refused, "record"> {
  readonly path: ReadonlyArray<string>;
  readonly value: Json;
}

const text = (words: string): Content => [{ type: "text", text: words }];
const outsider = person("outsider");

const positions = ({ name, cast, records }: Conversations.NamedChain): ReadonlyArray<Refused> => {
  const at = (height: number): Conversations.Position =>
    Conversations.positionOf(records[height] as HistoryRecord);
  const author = Conversations.member(cast, 0);
  const intent = Conversations.intentOf(cast, author, "a later post", text("later"));
  const refused = (
    title: string,
    height: number,
    reason: Refused["reason"],
    core: Record.RecordCore,
  ): Refused => ({
    chain: name,
    height,
    name: title,
    reason,
    record: Conversations.certified(cast, core),
  });
  const post = (position: Partial<Parameters<typeof Record.postCore>[1]>, from = intent): Record.PostCore =>
    Record.postCore(from, {
      height: 2,
      previousRecordHash: at(1).recordHash,
      anchorHash: Record.anchorHashOf(cast.anchor),
      ...position,
    });
  const elsewhere = {
    ...cast.anchor,
    routerInstanceId: RouterInstanceId.fromBytes(seeded("another router", 16)),
  };
  const laterRound = { ...cast.anchor, round: 1 };
  const first = (records[0] as HistoryRecord).recordCore.action.postIntent;
  return [
    refused("a height left out", 2, "position", post({ height: 3 })),
    refused("a height repeated", 2, "position", post({ height: 1 })),
    refused(
      "a predecessor that is not the head",
      2,
      "position",
      post({ previousRecordHash: at(0).recordHash }),
    ),
    refused("a second GENESIS", 2, "position", Conversations.coreOf(cast, intent, null)),
    refused("a POST at the beginning", 0, "position", post({ height: 1 })),
    refused(
      "an anchor that the chain never accepted",
      2,
      "anchor",
      post({ anchorHash: Record.anchorHashOf(elsewhere) }),
    ),
    refused("a post repeated", 2, "author", post({}, first)),
    refused(
      "a post id reused with another content",
      2,
      "author",
      post({}, { ...first, content: text("other") }),
    ),
    refused(
      "an author that is no member",
      2,
      "author",
      post({}, { ...intent, authorAgentId: outsider.card.agentId }),
    ),
    refused("empty content", 2, "decode", post({}, { ...intent, content: [] as unknown as Content })),
    refused(
      "content nested too deep",
      2,
      "decode",
      post({}, { ...intent, content: [{ type: "data", value: [[[[[[[[[]]]]]]]]] }] }),
    ),
    {
      ...refused(
        "a genesis anchor of a later round",
        0,
        "inconsistent",
        Record.genesisCore(cast.members.membership, intent, laterRound),
      ),
      record: {
        ...Conversations.certified(cast, Record.genesisCore(cast.members.membership, intent, laterRound)),
        routerAnchor: laterRound,
      },
    },
    {
      ...refused("an enclosed anchor of another Router", 2, "anchor", post({})),
      record: { ...Conversations.certified(cast, post({})), routerAnchor: elsewhere },
    },
  ];
};

/** Truly hashed cores whose parts contradict each other. */
const contradictions = ({ name, cast, records }: Conversations.NamedChain): ReadonlyArray<Refused> => {
  const head = Conversations.positionOf(records[1] as HistoryRecord);
  const intent = Conversations.intentOf(cast, Conversations.member(cast, 0), "contradiction", text("which?"));
  const good = Conversations.coreOf(cast, intent, head) as Record.PostCore;
  const withAction = (changes: Partial<Record.PostAction>): Record.PostCore => {
    const action = { ...good.action, ...changes };
    return { ...good, action, actionHash: Record.actionHashOf(action) };
  };
  const intentOf = (changes: Partial<Record.PostIntent>): Record.PostCore => {
    const postIntent = { ...intent, ...changes };
    return withAction({ postIntent, postIntentHash: Record.postIntentHashOf(postIntent) });
  };
  const other = ConversationId.fromBytes(seeded("another conversation"));
  const cases: ReadonlyArray<readonly [string, Record.PostCore]> = [
    ["an intent of another author", intentOf({ authorAgentId: Conversations.member(cast, 1).card.agentId })],
    ["an intent of another conversation", intentOf({ conversationId: other })],
    [
      "an intent of another membership",
      intentOf({ membershipHash: Membership.hashOf({ ...cast.members.membership, conversationId: other }) }),
    ],
    [
      "the hash of another intent",
      withAction({ postIntentHash: Record.postIntentHashOf({ ...intent, content: text("that") }) }),
    ],
    [
      "the hash of another action",
      { ...good, actionHash: Record.actionHashOf({ ...good.action, height: 3 }) },
    ],
    [
      "an action under another anchor than the core",
      withAction({ anchorHash: Record.anchorHashOf({ ...cast.anchor, round: 1 }) }),
    ],
  ];
  return cases.map(([title, core]) => ({
    chain: name,
    height: 2,
    name: title,
    reason: "inconsistent" as const,
    record: Conversations.certified(cast, core),
  }));
};

const memberships = ({ name, cast }: Conversations.NamedChain): ReadonlyArray<Refused> => {
  const encoded = cast.members.membership.members;
  const genesis = (
    title: string,
    members: ReadonlyArray<AgentCard.EncodedAgentCard>,
    reason: Refused["reason"] = "membership",
    ids = members.map((card) => AgentCard.decode(card).agentId),
  ): Refused => {
    const membership: Membership.Membership = {
      kind: "membership",
      conversationId: Membership.conversationIdOf(ids),
      members,
    };
    const about = {
      conversationId: membership.conversationId,
      membershipHash: Membership.hashOf(membership),
    };
    const anchor = { ...cast.anchor, ...about };
    const intent = {
      ...Conversations.intentOf(cast, Conversations.member(cast, 0), title, text("hello")),
      ...about,
    };
    const record = Conversations.certified(cast, Record.genesisCore(membership, intent, anchor));
    return { chain: name, height: 0, name: title, reason, record: { ...record, routerAnchor: anchor } };
  };
  const sameName = (): AgentCard.EncodedAgentCard => {
    const taken = Conversations.member(cast, 0).card.agentName;
    const keys: AgentCard.AgentKeys = { ...outsider.keys, agentName: taken };
    return AgentCard.encode(
      AgentCard.issue(registry, keys, AgentCard.signKeys(outsider.signer, keys), issuedAt),
    );
  };
  const inOrder = (
    cards: ReadonlyArray<AgentCard.EncodedAgentCard>,
  ): ReadonlyArray<AgentCard.EncodedAgentCard> =>
    Membership.ofCards(cards.map(AgentCard.decode)).membership.members;
  const foreign = AgentCard.encode(person("foreigner", otherRegistry).card);
  return [
    genesis("members out of order", encoded.toReversed()),
    genesis("a member twice", [encoded[0], ...encoded] as ReadonlyArray<AgentCard.EncodedAgentCard>),
    genesis("one member alone", encoded.slice(0, 1), "decode"),
    genesis("one name under two keys", inOrder([...encoded, sameName()])),
    genesis("a card of another Registry", inOrder([...encoded, foreign])),
    genesis("the conversation id of other members", encoded, "membership", [outsider.card.agentId]),
  ];
};

const evidence = (
  { name, cast, records }: Conversations.NamedChain,
  height: number,
): ReadonlyArray<Changed> => {
  const record = records[height] as HistoryRecord;
  const subject = VerifyRecord.subjectOf(record.recordHash, record.recordCore);
  const { action } = record.recordCore;
  const author = cast.people.find(({ card }) => card.agentId === action.authorAgentId) as Person;
  const others = cast.people.filter((one) => one !== author);
  const actionBy = (people: ReadonlyArray<Person>, about = subject) =>
    Conversations.signedBy(people, (id) => VerifyRecord.actionVoteOf(about, id));
  const durableBy = (people: ReadonlyArray<Person>, about = subject) =>
    Conversations.signedBy(people, (id) => VerifyRecord.durabilityVoteOf(about, id));
  const everybody = { actionSignatures: actionBy(cast.people), durabilityVotes: durableBy(cast.people) };
  const need = height === 0 ? cast.people.length : cast.members.quorum;
  const changed = (
    field: keyof typeof everybody,
    title: string,
    reason: Refused["reason"],
    value: unknown,
  ): Changed => ({
    chain: name,
    height,
    name: `${field}: ${title}`,
    reason,
    path: [field],
    value: value as Json,
  });
  const earlier = { ...subject, height: subject.height + 1 };
  const elsewhere = { ...subject, anchorHash: Record.anchorHashOf({ ...cast.anchor, round: 1 }) };
  const cases = (
    field: keyof typeof everybody,
    by: typeof actionBy,
    least: number,
  ): ReadonlyArray<Changed> => {
    const all = everybody[field];
    const stolen = all.map((entry, i) =>
      i === 0 ? { ...entry, signature: (all[1] as typeof entry).signature } : entry,
    );
    const crossed = field === "actionSignatures" ? everybody.durabilityVotes : everybody.actionSignatures;
    const many = Array.from({ length: 33 }, (_, i) => person(`signer-${i}`));
    return [
      changed(field, "nobody", "decode", []),
      changed(field, "one signer short", "threshold", by([author, ...others].slice(0, least - 1))),
      changed(field, "out of order", "decode", all.toReversed()),
      changed(field, "a signer twice", "decode", [all[0], ...all]),
      changed(field, "more signers than a conversation has members", "decode", by(many)),
      changed(field, "a signer that is no member", "threshold", by([...cast.people, outsider])),
      changed(field, "another member's signature", "signature", stolen),
      changed(field, "votes of the other kind", "signature", crossed),
      changed(field, "votes for another height", "signature", by(cast.people, earlier)),
      changed(field, "votes under another anchor", "signature", by(cast.people, elsewhere)),
      changed(
        field,
        "one good vote too many, signed by another key",
        "signature",
        by(
          cast.people.map((one, i) =>
            i === cast.people.length - 1 ? { ...one, signer: outsider.signer } : one,
          ),
        ),
      ),
    ];
  };
  return [
    ...cases("actionSignatures", actionBy, need),
    ...cases("durabilityVotes", durableBy, cast.members.quorum),
    changed("actionSignatures", "everybody but the author", "threshold", actionBy(others)),
  ];
};

export const brokenLaws = (
  two: Conversations.NamedChain,
  four: Conversations.NamedChain,
): ReadonlyArray<Refused | Changed> => [
  ...positions(two),
  ...contradictions(two),
  ...memberships(two),
  ...evidence(two, 1),
  ...evidence(four, 0),
  ...evidence(four, 2),
];
