// What Byzantine members know and can do: they see all that is said, sign anything of their own, close an envelope to whom
// they like, and say different things to different members. They cannot sign for others. What they do with it is
// Byzantine.ts's and ByzantineRounds.ts's.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import { type CompletedReanchor, type RouterAnchor, sorted } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import {
  AgentId,
  type AnchorHash,
  Ed25519Signature,
  PostId,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import { genesisAnchorOf, intentOf } from "./Certify.ts";
import type { Member, World } from "./FoldWorld.ts";
import type { Random } from "./Random.ts";

export type VoteKind = "action" | "durability";
type Entry = Statement.SignerEvidence;

/** One member does one bad thing, with the state of one honest member in view. */
export type Deed = (from: Member, near: Member) => void;

export interface LiarsOptions {
  readonly world: World;
  readonly members: ReadonlyArray<Member>;
  readonly random: Random;
}

export interface Liars extends LiarsOptions {
  readonly honest: ReadonlyArray<Member>;
  readonly cores: Map<RecordHash, Record.RecordCore>;
  /** Records that honest members asked a liar for, and have not been answered about. */
  readonly asked: Array<{ readonly by: AgentId; readonly of: Member; readonly recordHash: RecordHash }>;
  /** Re-anchors that liars made. */
  readonly reanchors: Array<CompletedReanchor>;
  /** All that honest members said, oldest first. */
  readonly packets: ReadonlyArray<Packet>;
  readonly noise: (byteCount: number) => Buffer;
  readonly strangeHash: () => RecordHash;
  readonly strangeSignature: () => Ed25519Signature;
  readonly recentHash: () => RecordHash;
  readonly subjectOf: (recordHash: RecordHash, near: Member) => VerifyRecord.VoteSubject;
  readonly signed: (kind: VoteKind, subject: VerifyRecord.VoteSubject, member: Member) => Entry;
  /** Every vote that is known of a record, with those of all liars. */
  readonly allVotes: (kind: VoteKind, subject: VerifyRecord.VoteSubject) => ReadonlyArray<Entry>;
  /** The same, at times thinned, spoilt or with votes of outsiders. */
  readonly certificate: (kind: VoteKind, subject: VerifyRecord.VoteSubject) => ReadonlyArray<Entry>;
  readonly newCore: (from: Member, near: Member) => Record.RecordCore;
  readonly proposal: (from: Member, core: Record.RecordCore) => Packet;
  /** An anchor that some honest member holds. */
  readonly anchorOf: (anchorHash: AnchorHash) => RouterAnchor | null;
  /** Some honest members, or none. */
  readonly some: () => ReadonlySet<AgentId>;
  readonly multicast: (from: Member, packet: Packet, closedTo?: ReadonlySet<AgentId>) => void;
  readonly unicast: (from: Member, to: Member, packet: Packet) => void;
  /** To everybody, to some, or to one. */
  readonly send: (from: Member, packet: Packet, lane?: boolean) => void;
}

/** Old things are remembered too, but most mischief is about the open slot. */
export const recentCount = 8;

export const headOf = ({ disk }: Member): RecordHash | null => disk.state.head?.recordHash ?? null;

export const createLiars = ({ world, members, random }: LiarsOptions): Liars => {
  const own = new Set(members.map(({ id }) => id));
  const honest = world.all.filter(({ id }) => !own.has(id));
  const cores = new Map<RecordHash, Record.RecordCore>();
  const votes = new Map<string, Map<AgentId, Entry>>();
  const packets: Array<Packet> = [];
  const posts: Array<PostId> = [];
  const asked: Liars["asked"] = [];
  const { conversationId } = world.members;

  const learnVotes = (kind: VoteKind, recordHash: RecordHash, entries: ReadonlyArray<Entry>): void => {
    const key = `${kind} ${recordHash}`;
    const known = votes.get(key) ?? new Map<AgentId, Entry>();
    votes.set(key, known);
    for (const { signerAgentId, signature } of entries)
      known.set(signerAgentId, { signerAgentId, signature });
  };

  const learn = (packet: Packet): void => {
    packets.push(packet);
    switch (packet.kind) {
      case "proposal_packet":
      case "record_response":
        cores.set(Record.recordHashOf(packet.recordCore), packet.recordCore);
        return;
      case "vote_packet":
        for (const vote of packet.actionVotes) learnVotes("action", vote.recordHash, [vote]);
        for (const vote of packet.durabilityVotes) learnVotes("durability", vote.recordHash, [vote]);
        return;
      case "action_certificate":
        learnVotes("action", packet.recordHash, packet.signatures);
        return learnVotes("durability", packet.recordHash, [packet.durabilityVote]);
      case "certified_notice":
        learnVotes("action", packet.recordHash, packet.actionSignatures);
        return learnVotes("durability", packet.recordHash, packet.durabilityVotes);
      default:
        return;
    }
  };
  world.onAccepted.push(({ from, packets: sent }, to) => {
    if (own.has(from)) return;
    const liar = members.find(({ id }) => id === to);
    for (const packet of sent) {
      learn(packet);
      if (liar !== undefined && packet.kind === "record_request")
        asked.push({ by: from, of: liar, recordHash: packet.recordHash });
    }
  });

  const noise = (byteCount: number): Buffer =>
    Buffer.from(Array.from({ length: byteCount }, () => random.below(256)));
  const strangeHash = (): RecordHash => RecordHash.fromBytes(noise(32));
  const strangeSignature = (): Ed25519Signature => Ed25519Signature.fromBytes(noise(64));
  const recentHash = (): RecordHash => {
    const hashes = [...cores.keys()].slice(-recentCount);
    return hashes.length === 0 ? strangeHash() : random.pick(hashes);
  };

  const anchorOf: Liars["anchorOf"] = (anchorHash) => {
    for (const { disk } of honest) {
      const anchor = disk.anchors.get(anchorHash);
      if (anchor !== undefined) return anchor;
    }
    return null;
  };

  const anchorNear = ({ disk }: Member): Record.Anchor => {
    const { anchor } = disk.state;
    const kept: RouterAnchor | undefined = anchor === null ? undefined : disk.anchors.get(anchor.anchorHash);
    return kept === undefined ? genesisAnchorOf(world) : Reanchor.bodyOf(kept);
  };

  const subjectOf = (recordHash: RecordHash, near: Member): VerifyRecord.VoteSubject => {
    const core = cores.get(recordHash);
    if (core !== undefined) return VerifyRecord.subjectOf(recordHash, core);
    const anchorHash: AnchorHash = Record.anchorHashOf(anchorNear(near));
    const height = (near.disk.state.head?.height ?? -1) + 1 + random.below(3);
    const { actionHash } = newCore(random.pick(members), near);
    return { conversationId, height, previousRecordHash: headOf(near), anchorHash, recordHash, actionHash };
  };

  const signed = (kind: VoteKind, subject: VerifyRecord.VoteSubject, { id, signer }: Member): Entry => {
    const statement =
      kind === "action" ? VerifyRecord.actionVoteOf(subject, id) : VerifyRecord.durabilityVoteOf(subject, id);
    return { signerAgentId: id, signature: Statement.sign(signer, statement) };
  };

  const allVotes = (kind: VoteKind, subject: VerifyRecord.VoteSubject): ReadonlyArray<Entry> => {
    const known = [...(votes.get(`${kind} ${subject.recordHash}`)?.values() ?? [])].filter(
      ({ signerAgentId }) => !own.has(signerAgentId),
    );
    return sorted([...known, ...members.map((member) => signed(kind, subject, member))]);
  };

  /** Votes of agents who are not members, as many as would do. */
  const outsiders = (): ReadonlyArray<Entry> =>
    world.members.ids.map(() => ({
      signerAgentId: AgentId.fromBytes(noise(16)),
      signature: strangeSignature(),
    }));

  const certificate = (kind: VoteKind, subject: VerifyRecord.VoteSubject): ReadonlyArray<Entry> => {
    let entries = allVotes(kind, subject);
    if (random.chance(0.2)) entries = entries.slice(random.below(entries.length));
    if (random.chance(0.1))
      entries = honest.map(({ id }) => ({ signerAgentId: id, signature: strangeSignature() }));
    if (random.chance(0.1)) entries = [...entries, ...outsiders()];
    return sorted(entries);
  };

  const some = (): ReadonlySet<AgentId> =>
    new Set(random.chance(0.5) ? [] : honest.filter(() => random.chance(0.4)).map(({ id }) => id));

  const multicast: Liars["multicast"] = (from, packet, closedTo) =>
    world.accept(from.id, { to: "lane", packets: [packet] }, closedTo);
  const unicast: Liars["unicast"] = (from, to, packet) =>
    world.accept(from.id, { to: to.id, packets: [packet] });
  const send: Liars["send"] = (from, packet, lane = random.chance(0.5)) =>
    lane ? multicast(from, packet, some()) : unicast(from, random.pick(honest), packet);

  function newCore(from: Member, near: Member): Record.RecordCore {
    if (posts.length === 0 || random.chance(0.7)) posts.push(PostId.fromBytes(noise(32)));
    const intent = intentOf(world, from.id, random.pick(posts), `whim ${random.below(3)}`);
    const { head } = near.disk.state;
    if (head === null) return Record.genesisCore(world.members.membership, intent, anchorNear(near));
    const ahead = random.chance(0.8) ? 0 : random.below(4);
    return Record.postCore(intent, {
      height: head.height + 1 + ahead,
      previousRecordHash: ahead === 0 ? head.recordHash : recentHash(),
      anchorHash: near.disk.state.anchor?.anchorHash ?? head.anchorHash,
    });
  }

  const proposal = ({ id, signer }: Member, core: Record.RecordCore): Packet => {
    cores.set(Record.recordHashOf(core), core);
    const statement = { kind: "proposal" as const, authorAgentId: id, actionHash: core.actionHash };
    const authorSignature = random.chance(0.9) ? Statement.sign(signer, statement) : strangeSignature();
    return { kind: "proposal_packet", recordCore: core, authorSignature };
  };

  return {
    world,
    members,
    random,
    honest,
    cores,
    asked,
    reanchors: [],
    packets,
    noise,
    strangeHash,
    strangeSignature,
    recentHash,
    subjectOf,
    signed,
    allVotes,
    certificate,
    newCore,
    proposal,
    anchorOf,
    some,
    multicast,
    unicast,
    send,
  };
};
