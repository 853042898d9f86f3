// Members that break every rule they can: they see all that is said, sign anything of their own, and say different things to
// different members. What they cannot do is sign for others or change the order of the lane.
// As a `nuisance` they never propose, so the honest members must get on with their work whatever else they hear.

import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { sorted } from "@social-harness/protocol/history/Evidence";
import {
  type AgentId,
  Ed25519Signature,
  PostId,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import { certifiedBy, genesisAnchorOf, intentOf } from "./Certify.ts";
import type { Member, World } from "./FoldWorld.ts";
import type { Random } from "./Random.ts";

type VoteKind = "action" | "durability";
type Entry = Statement.SignerEvidence;

export interface Byzantine {
  /** One member does one bad thing. */
  readonly act: () => void;
}

export interface ByzantineOptions {
  readonly world: World;
  readonly members: ReadonlyArray<Member>;
  readonly random: Random;
  readonly nuisance: boolean;
}

/** Old things are remembered too, but most mischief is about the open slot. */
const recentCount = 8;

export const createByzantine = ({ world, members, random, nuisance }: ByzantineOptions): Byzantine => {
  const own = new Set(members.map(({ id }) => id));
  const honest = world.all.filter(({ id }) => !own.has(id));
  const cores = new Map<RecordHash, Record.RecordCore>();
  const votes = new Map<string, Map<AgentId, Entry>>();
  const packets: Array<Packet> = [];
  const posts: Array<PostId> = [];
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
  world.onAccepted.push(({ from, packets: sent }) => {
    if (!own.has(from)) for (const packet of sent) learn(packet);
  });

  const noise = (byteCount: number): Buffer =>
    Buffer.from(Array.from({ length: byteCount }, () => random.below(256)));
  const strangeHash = (): RecordHash => RecordHash.fromBytes(noise(32));
  const recentHash = (): RecordHash => {
    const hashes = [...cores.keys()].slice(-recentCount);
    return hashes.length === 0 ? strangeHash() : random.pick(hashes);
  };
  const headOf = ({ disk }: Member): RecordHash | null => disk.state.head?.recordHash ?? null;

  const subjectOf = (recordHash: RecordHash, near: Member): VerifyRecord.VoteSubject => {
    const core = cores.get(recordHash);
    if (core !== undefined) return VerifyRecord.subjectOf(recordHash, core);
    const anchorHash = Record.anchorHashOf(genesisAnchorOf(world));
    const height = (near.disk.state.head?.height ?? -1) + 1 + random.below(3);
    const actionHash = Record.actionHashOf(
      Record.genesisCore(
        world.members.membership,
        intentOf(world, near.id, PostId.fromBytes(noise(32)), ""),
        genesisAnchorOf(world),
      ).action,
    );
    return { conversationId, height, previousRecordHash: headOf(near), anchorHash, recordHash, actionHash };
  };

  const signed = (kind: VoteKind, subject: VerifyRecord.VoteSubject, { id, signer }: Member): Entry => {
    const statement =
      kind === "action" ? VerifyRecord.actionVoteOf(subject, id) : VerifyRecord.durabilityVoteOf(subject, id);
    return { signerAgentId: id, signature: Statement.sign(signer, statement) };
  };

  /** What is known of a certificate, with the votes of every Byzantine member; at times thinned or spoilt. */
  const certificate = (kind: VoteKind, subject: VerifyRecord.VoteSubject): ReadonlyArray<Entry> => {
    const known = [...(votes.get(`${kind} ${subject.recordHash}`)?.values() ?? [])].filter(
      ({ signerAgentId }) => !own.has(signerAgentId),
    );
    let entries = [...known, ...members.map((member) => signed(kind, subject, member))];
    if (random.chance(0.2)) entries = entries.slice(random.below(entries.length));
    if (random.chance(0.2))
      entries = honest.map(({ id }) => ({
        signerAgentId: id,
        signature: Ed25519Signature.fromBytes(noise(64)),
      }));
    return sorted(entries);
  };

  const closedTo = (): ReadonlySet<AgentId> =>
    new Set(random.chance(0.5) ? [] : honest.filter(() => random.chance(0.4)).map(({ id }) => id));

  const send = (from: Member, packet: Packet, lane = random.chance(0.5)): void =>
    world.accept(
      from.id,
      { to: lane ? "lane" : random.pick(honest).id, packets: [packet] },
      lane ? closedTo() : undefined,
    );

  const newCore = (from: Member, near: Member): Record.RecordCore => {
    if (posts.length === 0 || random.chance(0.7)) posts.push(PostId.fromBytes(noise(32)));
    const intent = intentOf(world, from.id, random.pick(posts), `whim ${random.below(3)}`);
    const { head } = near.disk.state;
    if (head === null) return Record.genesisCore(world.members.membership, intent, genesisAnchorOf(world));
    const ahead = random.chance(0.8) ? 0 : random.below(4);
    return Record.postCore(intent, {
      height: head.height + 1 + ahead,
      previousRecordHash: ahead === 0 ? head.recordHash : recentHash(),
      anchorHash: near.disk.state.anchor?.anchorHash ?? head.anchorHash,
    });
  };

  const propose = (from: Member, near: Member): void => {
    const core = newCore(from, near);
    cores.set(Record.recordHashOf(core), core);
    const statement = { kind: "proposal" as const, authorAgentId: from.id, actionHash: core.actionHash };
    const authorSignature = random.chance(0.9)
      ? Statement.sign(from.signer, statement)
      : Ed25519Signature.fromBytes(noise(64));
    send(from, { kind: "proposal_packet", recordCore: core, authorSignature }, random.chance(0.95));
  };

  const vote = (from: Member, near: Member): void => {
    const subject = subjectOf(recentHash(), near);
    const entries = (kind: VoteKind): ReadonlyArray<Entry> =>
      random.chance(0.5) ? [signed(kind, subject, from)] : certificate(kind, subject);
    const actionVotes = entries("action").map((entry) => ({
      ...VerifyRecord.actionVoteOf(subject, entry.signerAgentId),
      signature: entry.signature,
    }));
    const durabilityVotes = entries("durability").map((entry) => ({
      ...VerifyRecord.durabilityVoteOf(subject, entry.signerAgentId),
      signature: entry.signature,
    }));
    send(from, { kind: "vote_packet", actionVotes, durabilityVotes, carryVotes: [] });
  };

  const certify = (from: Member, near: Member): void => {
    const subject = subjectOf(random.chance(0.9) ? recentHash() : strangeHash(), near);
    const durabilityVote = signed("durability", subject, from);
    send(from, {
      kind: "action_certificate",
      ...subject,
      signatures: certificate("action", subject),
      durabilityVote,
    });
  };

  const notify = (from: Member, near: Member): void => {
    const subject = subjectOf(random.chance(0.7) ? recentHash() : strangeHash(), near);
    send(from, {
      kind: "certified_notice",
      conversationId,
      recordHash: subject.recordHash,
      height: random.chance(0.8) ? subject.height : subject.height + random.below(1_000),
      durabilityAnchorHash: subject.anchorHash,
      actionSignatures: certificate("action", subject),
      durabilityVotes: certificate("durability", subject),
    });
  };

  const page = (from: Member, near: Member): void => {
    const { records } = near.disk;
    const honestItems = records
      .slice(random.below(records.length + 1))
      .map(({ recordHash: _, ...rest }) => ({ kind: "certified_record" as const, ...rest }));
    const { recordHash: _, ...forged } = certifiedBy(members, newCore(from, near), genesisAnchorOf(world));
    const items = random.chance(0.5)
      ? honestItems
      : [...honestItems, { kind: "certified_record" as const, ...forged }];
    send(
      from,
      {
        kind: "catch_up_page",
        conversationId,
        afterRecordHash: headOf(near),
        items,
        hasMore: random.chance(0.5),
      },
      false,
    );
  };

  const respond = (from: Member, near: Member): void => {
    const recordHash = recentHash();
    const recordCore = cores.get(recordHash) ?? newCore(from, near);
    const actionSignatures = certificate("action", subjectOf(recordHash, near));
    send(
      from,
      { kind: "record_response", recordCore, routerAnchor: genesisAnchorOf(world), actionSignatures },
      false,
    );
  };

  const request = (from: Member, near: Member): void => {
    const catchUp: PacketOf<"catch_up_request"> = {
      kind: "catch_up_request",
      conversationId,
      knownRecordHash: random.chance(0.3) ? null : random.chance(0.5) ? headOf(near) : strangeHash(),
      knownAnchorHash: null,
    };
    send(
      from,
      random.chance(0.5) ? catchUp : { kind: "record_request", conversationId, recordHash: recentHash() },
    );
  };

  /** Rounds that honest members may be at, or a little beyond. */
  const someRound = ({ disk }: Member): number => Math.max(1, disk.state.rounds.bound + random.below(3));

  const wish = (from: Member, near: Member): void => {
    const statement = {
      kind: "wish" as const,
      signerAgentId: from.id,
      conversationId,
      round: random.chance(0.9) ? someRound(near) : random.below(1_000),
      routerInstanceId: world.routerInstanceId,
    };
    send(from, { ...statement, signature: Statement.sign(from.signer, statement) }, random.chance(0.9));
  };

  /** Claims with other members' proofs, older claims than the truth, or claims without any proof. */
  const state = (from: Member, near: Member): void => {
    const heard = packets.filter((packet) => packet.kind === "statement_packet").slice(-recentCount);
    const model = heard.length === 0 ? undefined : random.pick(heard);
    const lies = random.chance(0.3);
    const head = random.chance(0.8) ? (model?.statement.head ?? null) : null;
    const prepared = random.chance(0.7) ? (model?.statement.prepared ?? null) : null;
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: from.id,
      conversationId,
      membershipHash: world.members.membershipHash,
      round: someRound(near),
      routerInstanceId: world.routerInstanceId,
      head,
      prepared: lies ? { recordHash: recentHash(), height: (head?.height ?? -1) + 1, round: random.below(4) } : prepared,
    };
    send(
      from,
      {
        kind: "statement_packet",
        statement,
        signature: Statement.sign(from.signer, statement),
        headProof: head === null ? null : (model?.headProof ?? null),
        preparedProof: statement.prepared === null ? null : (model?.preparedProof ?? null),
      },
      random.chance(0.9),
    );
  };

  /** A re-anchor from whatever statements were heard and made up, with the body they decide or another. */
  const complete = (from: Member, near: Member): void => {
    const round = someRound(near);
    const heard = packets.flatMap((packet) =>
      packet.kind === "statement_packet" && packet.statement.round === round
        ? [{ ...packet.statement, signature: packet.signature }]
        : [],
    );
    const invented = members.map((member) => {
      const statement: Statement.ReanchorStatement = {
        kind: "reanchor_statement",
        signerAgentId: member.id,
        conversationId,
        membershipHash: world.members.membershipHash,
        round,
        routerInstanceId: world.routerInstanceId,
        head: null,
        prepared: random.chance(0.5) ? null : { recordHash: recentHash(), height: 0, round: random.below(3) },
      };
      return { ...statement, signature: Statement.sign(member.signer, statement) };
    });
    const bySigner = new Map([...heard, ...invented].map((statement) => [statement.signerAgentId, statement]));
    const statements = world.members.ids.flatMap((id) => bySigner.get(id) ?? []).slice(0, world.members.quorum);
    if (statements.length === 0) return;
    const decision = Reanchor.decide(statements);
    const body: Record.ReanchorBody = {
      kind: "reanchor_body",
      conversationId,
      membershipHash: world.members.membershipHash,
      round,
      routerInstanceId: world.routerInstanceId,
      previousAnchorHash: decision?.base === null ? null : (near.disk.state.head?.anchorHash ?? null),
      baseRecordHash: random.chance(0.8) ? (decision?.base?.recordHash ?? null) : headOf(near),
      carriedRecordHash: random.chance(0.8) ? (decision?.carried?.recordHash ?? null) : null,
    };
    send(from, { kind: "completed_reanchor", body, statements }, random.chance(0.9));
  };

  const carry = (from: Member, near: Member): void => {
    const { anchor } = near.disk.state;
    const recordHash = anchor?.carried ?? recentHash();
    const subject = subjectOf(recordHash, near);
    const under = { ...subject, anchorHash: anchor?.anchorHash ?? subject.anchorHash };
    const carryVote = VerifyRecord.carryVoteOf(under, from.id);
    const durabilityVote = VerifyRecord.durabilityVoteOf(under, from.id);
    send(from, {
      kind: "vote_packet",
      actionVotes: [],
      durabilityVotes: [{ ...durabilityVote, signature: Statement.sign(from.signer, durabilityVote) }],
      carryVotes: [{ ...carryVote, signature: Statement.sign(from.signer, carryVote) }],
    });
  };

  const replay = (from: Member): void => {
    if (packets.length > 0) send(from, random.pick(random.chance(0.7) ? packets.slice(-20) : packets));
  };

  /** A true packet with one of its fields exchanged. */
  const distort = (from: Member): void => {
    const packet = packets.at(-1 - random.below(Math.min(20, packets.length)));
    if (packet === undefined) return;
    if (packet.kind === "action_certificate" || packet.kind === "certified_notice") {
      const height = Math.max(0, packet.height + random.below(3) - 1);
      send(from, random.chance(0.5) ? { ...packet, height } : { ...packet, recordHash: recentHash() });
    }
    if (packet.kind === "proposal_packet" && packet.recordCore.action.kind === "post") {
      const { recordCore } = packet;
      const { action } = recordCore as Record.PostCore;
      send(from, {
        ...packet,
        recordCore: { ...(recordCore as Record.PostCore), action: { ...action, height: action.height + 1 } },
      });
    }
  };

  /** Tells a member that waits for a core something else about it. */
  const confuse = (from: Member, near: Member): void => {
    const missing = near.disk.state.behind?.missing ?? null;
    if (missing === null) return distort(from);
    const { recordHash, actionHash, previousRecordHash, anchorHash } = missing;
    const height = missing.height + random.below(3);
    const subject = {
      conversationId,
      recordHash,
      actionHash,
      height,
      previousRecordHash: random.chance(0.5) ? previousRecordHash : strangeHash(),
      anchorHash,
    };
    const signatures = certificate("action", subject);
    const durabilityVote = signed("durability", subject, from);
    const packet = { kind: "action_certificate" as const, ...subject, signatures, durabilityVote };
    world.accept(from.id, { to: near.id, packets: [packet] });
  };

  const deeds: ReadonlyArray<(from: Member, near: Member) => void> = [
    ...(nuisance ? [] : [propose, propose, propose]),
    vote,
    vote,
    certify,
    certify,
    notify,
    notify,
    page,
    respond,
    request,
    replay,
    distort,
    confuse,
    wish,
    state,
    state,
    complete,
    complete,
    carry,
  ];
  return { act: () => random.pick(deeds)(random.pick(members), random.pick(honest)) };
};
