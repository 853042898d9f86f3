// A conversation to tell stories about: members called A, B, C, ..., good weather unless the story says otherwise, and a
// log of every envelope as one readable line.

import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { calm } from "@social-harness/testkit/simulation/Calm";
import {
  genesisAnchorOf,
  intentOf,
  openConversation,
  postIdOf,
} from "@social-harness/testkit/simulation/Certify";
import { createWorld, type Member, type World } from "@social-harness/testkit/simulation/FoldWorld";
import { watch } from "@social-harness/testkit/simulation/Oracles";
import type { Packet, PacketKind, PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as PacketCodec from "@social-harness/protocol/conversation/Packet";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import { actionVoteOf, subjectOf } from "@social-harness/protocol/history/VerifyRecord";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { type AgentId, type PostId, RecordHash } from "@social-harness/protocol/identity/Identifier";

export interface Scenario {
  readonly world: World;
  readonly at: (name: string) => Member;
  /** Persists and submits a post of a member that is up. */
  readonly say: (name: string, text: string) => PostId;
  /** Everything moves; time passes up to `ms`. */
  readonly run: (ms?: number) => void;
  /** The chain of a member: `A: text` for each record above a GENESIS that was there from the start. */
  readonly chain: (name: string) => ReadonlyArray<string>;
  readonly chains: () => ReadonlyArray<ReadonlyArray<string>>;
  /** `A => all: kind, kind` or `A -> B: kind` for every envelope since the last call. */
  readonly sent: () => ReadonlyArray<string>;
  /** What members did not believe, since the last call: `B: why`. */
  readonly notes: () => ReadonlyArray<string>;
  /** How an intent ended at its author, or null. */
  readonly outcome: (name: string, postId: PostId) => string | null;
  readonly name: (id: AgentId) => string;
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** n members; `opened` puts a GENESIS by A on every disk first. Oracles and the closed packet decoder watch throughout. */
export const scenario = (n: number, opened = true, watched = true): Scenario => {
  const { agents, registry, verifier } = createAgents(n, `scenario of ${n}`, false);
  const world = createWorld({ agents, trust: { verifier, registryKey: registry.publicKey } });
  if (opened) openConversation(world);
  world.isTold = true;
  if (watched) watch(world, new Set());
  const at = (name: string): Member => {
    const member = world.all[letters.indexOf(name)];
    if (member === undefined) throw new RangeError(`no member ${name}`);
    return member;
  };
  const name = (id: AgentId): string => letters[world.members.indexOf(id)] ?? "?";
  let sent: Array<string> = [];
  let notes: Array<string> = [];
  world.onAccepted.push(({ from, packets }, to) => {
    for (const packet of packets)
      PacketCodec.decode(
        JSON.parse(CanonicalJson.encode(packet as CanonicalJson.Json)) as CanonicalJson.Json,
      );
    const arrow = to === "lane" ? "=> all" : `-> ${name(to)}`;
    sent.push(`${name(from)} ${arrow}: ${packets.map(({ kind }) => kind).join(", ")}`);
  });
  world.onCommitted.push(({ member, commands }) => {
    for (const command of commands)
      if (command.kind === "note") notes.push(`${name(member.id)}: ${command.message}`);
  });
  const chain = (who: string): ReadonlyArray<string> =>
    at(who)
      .disk.records.slice(opened ? 1 : 0)
      .map(({ recordCore: { action } }) => {
        const [part] = action.postIntent.content;
        return `${name(action.authorAgentId)}: ${part.type === "text" ? part.text : "?"}`;
      });
  const drain = (lines: Array<string>, reset: () => void): ReadonlyArray<string> => {
    reset();
    return lines;
  };
  return {
    world,
    at,
    name,
    say: (who, text) => {
      const postId = world.submit(at(who).index, text);
      if (postId === null) throw new Error(`${who} is down`);
      return postId;
    },
    run: (ms = 0) => void calm(world, { horizonMs: ms }),
    chain,
    chains: () => world.all.map(({ id }) => chain(name(id))),
    sent: () => drain(sent, () => (sent = [])),
    notes: () => drain(notes, () => (notes = [])),
    outcome: (who, postId) =>
      at(who).disk.intents.find(({ intent }) => intent.postId === postId)?.outcome ?? null,
  };
};

/** Told by hand: members sign what they never would, so the oracles look away. */
export const byHand = (n: number, opened = true): Scenario => scenario(n, opened, false);

export const down = ({ world, at }: Scenario, name: string): void => world.crash(at(name).index);
export const back = ({ world, at }: Scenario, name: string): void => world.restart(at(name).index);

/** Delivers everything, up to `ms`, except to the members named. */
export const runWithout = (story: Scenario, names: ReadonlyArray<string>, ms = 0): void => {
  const { world, at, run } = story;
  for (const name of names) world.disconnect(at(name).index);
  run(ms);
  for (const name of names) world.connect(at(name).index);
};

/** The named kinds of packets are lost on their way to a member. */
export const deaf = (story: Scenario, name: string, ...kinds: ReadonlyArray<PacketKind>): void => {
  const { world, at } = story;
  const before = world.loses;
  const { id } = at(name);
  world.loses = (from, packets, to) =>
    before(from, packets, to) || (to.id === id && packets.some(({ kind }) => kinds.includes(kind)));
};

export const hearing = ({ world }: Scenario): void => {
  world.loses = () => false;
};

/** A proposal that `author` might make above the head of `near`, true unless changed. */
export const proposalOf = (
  { world, at }: Scenario,
  author: string,
  text: string,
  change: {
    readonly near?: string;
    readonly postId?: PostId;
    readonly position?: Partial<Parameters<typeof Record.postCore>[1]>;
  } = {},
): PacketOf<"proposal_packet"> => {
  const { id, signer } = at(author);
  const { head } = at(change.near ?? author).disk.state;
  const intent = intentOf(world, id, change.postId ?? postIdOf(`by hand ${author} ${text}`), text);
  const core =
    head === null
      ? Record.genesisCore(world.members.membership, intent, genesisAnchorOf(world))
      : Record.postCore(intent, {
          height: head.height + 1,
          previousRecordHash: head.recordHash,
          anchorHash: head.anchorHash,
          ...change.position,
        });
  const authorSignature = Statement.sign(signer, {
    kind: "proposal",
    authorAgentId: id,
    actionHash: core.actionHash,
  });
  if (world.all.length !== 2) return { kind: "proposal_packet", recordCore: core, authorSignature };
  const vote = actionVoteOf(subjectOf(Record.recordHashOf(core), core), id);
  const actionVote = { signerAgentId: id, signature: Statement.sign(signer, vote) };
  return { kind: "proposal_packet", recordCore: core, authorSignature, actionVote };
};

/** Hands one packet to a member, at a place of the lane or as a unicast. */
export const hand = (
  { world, at }: Scenario,
  to: string,
  from: string,
  packet: Packet,
  laneSequence: number | null = world.lane.length + 1_000,
): void => world.feed(at(to).index, { kind: "packet", from: at(from).id, laneSequence, packet });

/** A conversation of four in which D missed the posts `1` to `count` altogether. */
export const missed = (count: number, watched = true): Scenario => {
  const story = scenario(4, true, watched);
  story.world.loses = (_, __, to) => to.id === story.at("D").id;
  for (let i = 1; i <= count; i++) story.say("A", String(i));
  story.run(30_000);
  hearing(story);
  story.sent();
  return story;
};

/** The hash of no record. */
export const strangeRecordHash = RecordHash.fromBytes(Buffer.alloc(32, 0x5a));

/** A notice of a record that nobody knows, with the evidence of another. */
export const claim = (story: Scenario, height: number): PacketOf<"certified_notice"> => {
  const head = story.at("A").disk.records.at(-1) as HistoryRecord;
  return {
    kind: "certified_notice",
    conversationId: story.world.members.conversationId,
    recordHash: strangeRecordHash,
    height,
    durabilityAnchorHash: head.recordCore.anchorHash,
    actionSignatures: head.actionSignatures,
    durabilityVotes: head.durabilityVotes,
  };
};
