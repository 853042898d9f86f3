// Members that break every rule they can. Here is what they do about the open slot, catch-up and the wire; ByzantineRounds.ts
// has what they do about rounds and the ends of posts.
// As a `nuisance` they never propose, so the honest members must get on with their work whatever else they hear. The
// `secretive` show no certificate before its round is over, which makes the most of what they then can prove.

import * as Packets from "@social-harness/protocol/conversation/Packet";
import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { roundDeeds } from "./ByzantineRounds.ts";
import { certifiedBy, genesisAnchorOf } from "./Certify.ts";
import { farDeeds } from "./FarRounds.ts";
import type { Member } from "./FoldWorld.ts";
import { type SchemeName, schemes } from "./schemes/Schemes.ts";
import { createLiars, type Deed, headOf, type Liars, type LiarsOptions, type VoteKind } from "./Liars.ts";

export interface Byzantine {
  /** One member does one bad thing. */
  readonly act: () => void;
  /** One member proposes something else to each half of the others, so that the open slot may split. */
  readonly split: (near: Member) => void;
}

export interface ByzantineOptions extends LiarsOptions {
  readonly nuisance: boolean;
  readonly secretive: boolean;
  /** What these liars are after above all. */
  readonly scheme: SchemeName | null;
  /** They do one thing again and again. */
  readonly stubborn: boolean;
}

/** How much of what they do belongs to their scheme. */
const schemeShare = 0.7;
/** How often in a row a stubborn liar does what it always does. */
const insistence = 3;

/** Whose question is waiting is mostly answered before anything else is done: an answer may well be a trap. */
const answersFirst = 0.7;

/** Two different proposals in one slot, each for one half of the members. */
const splitting =
  (liars: Liars): Deed =>
  (from, near) => {
    const { random, honest, newCore, proposal, multicast } = liars;
    const half = new Set(honest.filter(() => random.chance(0.5)).map(({ id }) => id));
    const rest = new Set(honest.filter(({ id }) => !half.has(id)).map(({ id }) => id));
    multicast(from, proposal(from, newCore(from, near)), half);
    multicast(from, proposal(from, newCore(from, near)), rest);
  };

/** Proposals: whole ones, two different ones in one slot, words put in others' mouths, and posts that are certified already. */
const proposing = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, members, random, cores, newCore, proposal, strangeSignature, send } = liars;
  const propose: Deed = (from, near) => send(from, proposal(from, newCore(from, near)), random.chance(0.95));
  /** Words in another's mouth, from a leader if one can lie: an author votes for what stands in its name. */
  const forge: Deed = (from, near) => {
    const recordCore = newCore(near, near);
    cores.set(Record.recordHashOf(recordCore), recordCore);
    const leader = Reanchor.leaderOf(world.members, near.disk.state.rounds.bound);
    const sender = members.find(({ id }) => id === leader) ?? from;
    send(sender, { kind: "proposal_packet", recordCore, authorSignature: strangeSignature() }, true);
  };
  /** A post of a liar that is certified already, once more. */
  const again: Deed = (from, near) => {
    const mine = near.disk.records.filter(({ recordCore }) => recordCore.action.authorAgentId === from.id);
    const { head, anchor } = near.disk.state;
    if (mine.length === 0 || head === null || anchor === null) return propose(from, near);
    const core = Record.postCore(random.pick(mine).recordCore.action.postIntent, {
      height: head.height + 1,
      previousRecordHash: head.recordHash,
      anchorHash: anchor.anchorHash,
    });
    send(from, proposal(from, core), true);
  };
  return [propose, propose, splitting(liars), forge, again];
};

/** Votes and certificates: true ones to few, thinned and spoilt ones to many, and full ones kept back. */
const certifying = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, random, honest, cores, recentHash, strangeHash, subjectOf, signed, allVotes, certificate } =
    liars;
  const { conversationId } = world.members;

  const vote: Deed = (from, near) => {
    const subject = subjectOf(recentHash(), near);
    const entries = (kind: VoteKind) =>
      random.chance(0.5) ? [signed(kind, subject, from)] : certificate(kind, subject);
    const actionVotes = entries("action").map((entry) => ({
      ...VerifyRecord.actionVoteOf(subject, entry.signerAgentId),
      signature: entry.signature,
    }));
    const durabilityVotes = entries("durability").map((entry) => ({
      ...VerifyRecord.durabilityVoteOf(subject, entry.signerAgentId),
      signature: entry.signature,
    }));
    liars.send(from, { kind: "vote_packet", actionVotes, durabilityVotes, carryVotes: [] });
  };

  const certify: Deed = (from, near) => {
    const subject = subjectOf(random.chance(0.9) ? recentHash() : strangeHash(), near);
    const durabilityVote = signed("durability", subject, from);
    const signatures = certificate("action", subject);
    if (signatures.length === 0) return;
    liars.send(from, { kind: "action_certificate", ...subject, signatures, durabilityVote });
  };

  /** As collector: the certificate of an own record goes to one member alone, as a certificate or as a finished notice. */
  const withhold: Deed = (from, near) => {
    const mine = [...cores].filter(([, { action }]) => action.authorAgentId === from.id).slice(-3);
    if (mine.length === 0) return certify(from, near);
    const [recordHash, core] = random.pick(mine);
    const subject = VerifyRecord.subjectOf(recordHash, core);
    const durabilityVote = signed("durability", subject, from);
    const signatures = allVotes("action", subject);
    const staged = { kind: "action_certificate" as const, ...subject, signatures, durabilityVote };
    if (random.chance(0.7)) return liars.unicast(from, random.pick(honest), staged);
    liars.unicast(from, random.pick(honest), {
      kind: "certified_notice",
      conversationId,
      recordHash,
      height: subject.height,
      durabilityAnchorHash: subject.anchorHash,
      actionSignatures: signatures,
      durabilityVotes: allVotes("durability", subject),
    });
  };

  const notify: Deed = (from, near) => {
    const subject = subjectOf(random.chance(0.7) ? recentHash() : strangeHash(), near);
    const actionSignatures = certificate("action", subject);
    const durabilityVotes = certificate("durability", subject);
    if (actionSignatures.length === 0 || durabilityVotes.length === 0) return;
    liars.send(from, {
      kind: "certified_notice",
      conversationId,
      recordHash: subject.recordHash,
      height: random.chance(0.8) ? subject.height : subject.height + random.below(1_000),
      durabilityAnchorHash: subject.anchorHash,
      actionSignatures,
      durabilityVotes,
    });
  };

  /** Tells a member that waits for a core something else about it. */
  const confuse: Deed = (from, near) => {
    const missing = near.disk.state.behind?.missing ?? null;
    if (missing === null) return certify(from, near);
    const { recordHash, actionHash, previousRecordHash: previous, anchorHash } = missing;
    const height = missing.height + random.below(3);
    const previousRecordHash = random.chance(0.5) ? previous : strangeHash();
    const subject = { conversationId, recordHash, actionHash, height, previousRecordHash, anchorHash };
    const signatures = certificate("action", subject);
    if (signatures.length === 0) return;
    const durabilityVote = signed("durability", subject, from);
    liars.unicast(from, near, { kind: "action_certificate", ...subject, signatures, durabilityVote });
  };

  /** Refuses what it may have voted for, or withdraws a post that it goes on with. */
  const refuse: Deed = (from) => {
    const known = [...cores.values()].slice(-5);
    if (known.length === 0) return;
    const { actionHash, action } = random.pick(known);
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: from.id, actionHash };
    const refusal = {
      kind: "refusal" as const,
      signerAgentId: from.id,
      actionHash,
      reason: "withdrawn" as const,
    };
    const statement = action.authorAgentId === from.id && random.chance(0.5) ? withdrawal : refusal;
    liars.send(from, { ...statement, signature: Statement.sign(from.signer, statement) });
  };

  return [vote, vote, certify, certify, withhold, withhold, notify, notify, confuse, refuse];
};

/** Catch-up: forged pages and cores, and questions about anything. */
const catchingUp = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, members, random, packets, cores, recentHash, strangeHash, subjectOf, certificate, newCore } =
    liars;
  const { conversationId } = world.members;

  const page: Deed = (from, near) => {
    const { records } = near.disk;
    const honestItems = records
      .slice(random.below(records.length + 1))
      .map(({ recordHash: _, ...rest }) => ({ kind: "certified_record" as const, ...rest }));
    const { recordHash: _, ...forged } = certifiedBy(members, newCore(from, near), genesisAnchorOf(world));
    const said = packets.filter((packet) => packet.kind === "completed_reanchor").slice(-1);
    const anchors = random.chance(0.5) ? said : liars.reanchors.slice(-1);
    const tail = random.chance(0.5) ? [] : [{ kind: "certified_record" as const, ...forged }];
    liars.unicast(from, random.pick(liars.honest), {
      kind: "catch_up_page",
      conversationId,
      afterRecordHash: headOf(near),
      items: [...honestItems, ...tail, ...(random.chance(0.3) ? anchors : [])],
      hasMore: random.chance(0.5),
    });
  };

  const respond: Deed = (from, near) => {
    const recordHash = recentHash();
    const recordCore = cores.get(recordHash) ?? newCore(from, near);
    const actionSignatures = certificate("action", subjectOf(recordHash, near));
    if (actionSignatures.length === 0) return;
    const routerAnchor = liars.anchorOf(recordCore.anchorHash) ?? genesisAnchorOf(world);
    liars.send(from, { kind: "record_response", recordCore, routerAnchor, actionSignatures }, false);
  };

  const request: Deed = (from, near) => {
    const catchUp: PacketOf<"catch_up_request"> = {
      kind: "catch_up_request",
      conversationId,
      knownRecordHash: random.chance(0.3) ? null : random.chance(0.5) ? headOf(near) : strangeHash(),
      knownAnchorHash: null,
    };
    liars.send(
      from,
      random.chance(0.5) ? catchUp : { kind: "record_request", conversationId, recordHash: recentHash() },
    );
  };

  return [page, respond, request];
};

/** The core and the votes of a record that an honest member asked for. */
const answering = (liars: Liars): (() => boolean) => {
  const { world, random, honest, cores, asked, subjectOf, allVotes } = liars;
  return () => {
    const question = random.chance(answersFirst) ? asked.shift() : undefined;
    const near = honest.find(({ id }) => id === question?.by);
    const recordCore = question === undefined ? undefined : cores.get(question.recordHash);
    if (question === undefined || near === undefined || recordCore === undefined) return false;
    const actionSignatures = allVotes("action", subjectOf(question.recordHash, near));
    const routerAnchor = liars.anchorOf(recordCore.anchorHash) ?? genesisAnchorOf(world);
    liars.unicast(question.of, near, { kind: "record_response", recordCore, routerAnchor, actionSignatures });
    return true;
  };
};

/** One leaf of a JSON value exchanged for another one of its type, often a true one from elsewhere. */
const distorted = (value: unknown, other: unknown, random: Liars["random"]): unknown => {
  if (typeof value === "number") return Math.max(0, value + random.below(3) - 1);
  if (typeof value === "string") return typeof other === "string" ? other : value;
  if (typeof value !== "object" || value === null) return other === undefined ? value : other;
  const keys = Object.keys(value);
  if (keys.length === 0) return value;
  const key = random.pick(keys);
  const inner = (from: unknown): unknown =>
    typeof from === "object" && from !== null
      ? (from as { readonly [key: string]: unknown })[key]
      : undefined;
  const changed = distorted(inner(value), inner(other), random);
  return Array.isArray(value)
    ? value.map((item: unknown, i) => (String(i) === key ? changed : item))
    : { ...value, [key]: changed };
};

/** The wire: things said before, true packets with a field exchanged, and what no decoder takes. */
const meddling = ({ random, packets, members, world, send }: Liars): ReadonlyArray<Deed> => {
  const recent = (): Packet => random.pick(random.chance(0.7) ? packets.slice(-20) : packets);
  const replay: Deed = (from) => {
    if (packets.length > 0) send(from, recent());
  };
  const distort: Deed = (from) => {
    if (packets.length === 0) return;
    const packet = recent();
    const alike = packets.filter(({ kind }) => kind === packet.kind);
    const garbage = distorted(packet, random.pick(alike), random);
    try {
      send(from, Packets.decode(garbage as CanonicalJson.Json));
    } catch (error) {
      // What the decoder refuses can be said only where there is one.
      if (!(error instanceof DecodeError)) throw error;
      const to = random.pick(world.all.filter((member) => !members.includes(member)));
      if (world.wire.seals) world.accept(from.id, { to: to.id, packets: [garbage as Packet] });
    }
  };
  return [replay, distort, distort];
};

export const createByzantine = ({
  nuisance,
  secretive,
  scheme,
  stubborn,
  ...options
}: ByzantineOptions): Byzantine => {
  const liars = createLiars(options);
  const { random, members, honest } = liars;
  const deeds: ReadonlyArray<Deed> = [
    ...(nuisance ? [] : proposing(liars)),
    ...(secretive ? [] : certifying(liars)),
    ...catchingUp(liars),
    ...meddling(liars),
    ...roundDeeds(liars, secretive),
    ...farDeeds(liars),
  ];
  const schemed = scheme === null ? [] : schemes[scheme](liars);
  const answer = answering(liars);
  const split = splitting(liars);
  const habit = random.pick(schemed.length > 0 ? schemed : deeds);
  const insist = (): void => {
    for (let i = 0; i < insistence; i++) habit(random.pick(members), random.pick(honest));
  };
  return {
    split: (near) => split(random.pick(members), near),
    act: () => {
      if (stubborn && random.chance(schemeShare)) return insist();
      const isSchemed = schemed.length > 0 && random.chance(schemeShare);
      if (isSchemed) random.pick(schemed)(random.pick(members), random.pick(honest));
      else if (!answer()) random.pick(deeds)(random.pick(members), random.pick(honest));
    },
  };
};
