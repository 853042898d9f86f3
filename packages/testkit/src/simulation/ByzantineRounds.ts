// What Byzantine members do about rounds and the ends of posts: wishes without cause, statements that claim what they cannot
// show or keep back what they hold, re-anchors of their own making, carry votes for anything, refusals of what they voted
// for, withdrawals and accusations.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { Member } from "./FoldWorld.ts";
import { type Deed, headOf, type Liars, recentCount } from "./Liars.ts";

type StatementPacket = Extract<Packet, { kind: "statement_packet" }>;

const shuffled = <T>(items: ReadonlyArray<T>, random: Liars["random"]): Array<T> => {
  const left = [...items];
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T);
};

/** Rounds that honest members may be at, or a little beyond. */
const roundNear = ({ random }: Liars, { disk }: Member): number =>
  Math.max(1, disk.state.rounds.bound + random.below(3));

const changing = (liars: Liars, secretive: boolean): ReadonlyArray<Deed> => {
  const { world, members, random, honest, packets, cores, recentHash, strangeSignature, allVotes, send } =
    liars;
  const { conversationId, membershipHash, n, quorum } = world.members;
  const heard = (): ReadonlyArray<StatementPacket> =>
    packets.filter((packet) => packet.kind === "statement_packet");

  const wish: Deed = (from, near) => {
    const statement = {
      kind: "wish" as const,
      signerAgentId: from.id,
      conversationId,
      round: random.chance(0.9) ? roundNear(liars, near) : random.below(1_000),
      routerInstanceId: world.routerInstanceId,
    };
    send(from, { ...statement, signature: Statement.sign(from.signer, statement) }, random.chance(0.9));
  };

  /** Claims with other members' proofs, older claims than the truth, or claims without any proof. */
  const state: Deed = (from, near) => {
    const models = heard().slice(-recentCount);
    const model = models.length === 0 ? undefined : random.pick(models);
    const round = random.chance(0.5)
      ? (model?.statement.round ?? roundNear(liars, near))
      : roundNear(liars, near);
    const lies = random.chance(0.3);
    const head = random.chance(0.8) ? (model?.statement.head ?? null) : null;
    const prepared = random.chance(0.7) ? (model?.statement.prepared ?? null) : null;
    const claim = { recordHash: recentHash(), height: (head?.height ?? -1) + 1, round: random.below(4) };
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: from.id,
      conversationId,
      membershipHash,
      round,
      routerInstanceId: world.routerInstanceId,
      head,
      prepared: lies ? claim : prepared,
    };
    const packet: StatementPacket = {
      kind: "statement_packet",
      statement,
      signature: Statement.sign(from.signer, statement),
      headProof: head === null ? null : (model?.headProof ?? null),
      preparedProof: statement.prepared === null ? null : (model?.preparedProof ?? null),
    };
    send(from, packet, random.chance(0.9));
  };

  /**
   * States the certificate of a record that may have been kept back until its round was over, in its true round or in a
   * later one, so that whoever believes the claim carries it.
   */
  const revive: Deed = (from, near) => {
    const next = (near.disk.state.head?.height ?? -1) + 1;
    const ready = [...cores].filter(([recordHash, core]) => {
      const { height, previousRecordHash } = core.action;
      const votes = allVotes("action", VerifyRecord.subjectOf(recordHash, core));
      return (
        height === next && previousRecordHash === headOf(near) && votes.length >= (height === 0 ? n : quorum)
      );
    });
    if (ready.length === 0) return state(from, near);
    const [recordHash, core] = random.pick(ready);
    const anchor = liars.anchorOf(core.anchorHash);
    if (anchor === null) return;
    const subject = VerifyRecord.subjectOf(recordHash, core);
    const own = Reanchor.bodyOf(anchor).round;
    const round = Math.max(own + 1, near.disk.state.rounds.bound + (random.chance(0.6) ? 0 : 1));
    const model = heard().findLast(({ statement }) => statement.head?.recordHash === headOf(near));
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: from.id,
      conversationId,
      membershipHash,
      round,
      routerInstanceId: near.binding.instance.id,
      head: model?.statement.head ?? null,
      prepared: { recordHash, height: next, round: random.chance(0.4) ? own : Math.max(own, round - 1) },
    };
    const certificate = { ...subject, signatures: allVotes("action", subject) };
    const { conversationId: _, ...action } = certificate;
    const packet: StatementPacket = {
      kind: "statement_packet",
      statement,
      signature: Statement.sign(from.signer, statement),
      headProof: model?.headProof ?? null,
      preparedProof: { action, anchor: Reanchor.bodyOf(anchor), carry: null },
    };
    send(from, packet, random.chance(0.95));
  };

  /** Another's statement as this member's own, with a later round for what is prepared, or one that nobody made. */
  const inventedBy = (member: Member, round: number): ReturnType<typeof signedOf> => {
    const model = heard().findLast(
      (packet) => packet.statement.round === round && random.chance(0.6),
    )?.statement;
    const known = model?.prepared ?? null;
    const strange = { recordHash: recentHash(), height: 0, round: random.below(3) };
    const later = known === null ? null : { ...known, round: known.round + random.below(3) };
    const prepared = random.chance(0.3) ? null : random.chance(0.7) ? later : strange;
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: member.id,
      conversationId,
      membershipHash,
      round,
      routerInstanceId: world.routerInstanceId,
      head: model?.head ?? null,
      prepared,
    };
    return { ...statement, signature: Statement.sign(member.signer, statement) };
  };
  const signedOf = ({ statement, signature }: StatementPacket) => ({ ...statement, signature });

  /** A re-anchor from whatever statements were heard, made up or said twice, with the body they decide or another. */
  const complete: Deed = (from, near) => {
    const latest = heard().at(-1)?.statement.round;
    const round = random.chance(0.7) ? (latest ?? roundNear(liars, near)) : roundNear(liars, near);
    const leader = members.find(({ id }) => id === Reanchor.leaderOf(world.members, round)) ?? from;
    const spoken = heard()
      .filter(({ statement }) => statement.round === round)
      .map(signedOf);
    const forged = random.chance(0.1) ? honest : [];
    const invented = [
      ...members.map((member) => inventedBy(member, round)),
      ...forged.map((member) => ({ ...inventedBy(member, round), signature: strangeSignature() })),
    ];
    const pool = shuffled(random.chance(0.5) ? [...spoken, ...invented] : [...invented, ...spoken], random);
    const bySigner = new Map(pool.map((statement) => [statement.signerAgentId, statement]));
    const chosen = new Set(shuffled([...bySigner.keys()], random).slice(0, quorum));
    const single = world.members.ids.flatMap((id) => (chosen.has(id) ? (bySigner.get(id) ?? []) : []));
    const statements = random.chance(0.1) ? [...single.slice(0, 1), ...single.slice(0, -1)] : single;
    if (statements.length === 0) return;
    const decision = Reanchor.decide(statements);
    const base = decision?.base ?? null;
    const below = base === null ? undefined : near.disk.records[base.height];
    const body: Record.ReanchorBody = {
      kind: "reanchor_body",
      conversationId,
      membershipHash,
      round,
      routerInstanceId: world.routerInstanceId,
      previousAnchorHash: below?.recordCore.anchorHash ?? null,
      baseRecordHash: random.chance(0.8) ? (base?.recordHash ?? null) : headOf(near),
      carriedRecordHash: random.chance(0.8) ? (decision?.carried?.recordHash ?? null) : null,
    };
    const completed = { kind: "completed_reanchor" as const, body, statements };
    liars.reanchors.push(completed);
    send(leader, completed, random.chance(0.9));
  };

  const carry: Deed = (from, near) => {
    const { anchor } = near.disk.state;
    const subject = liars.subjectOf(anchor?.carried ?? recentHash(), near);
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

  return [
    wish,
    state,
    complete,
    complete,
    carry,
    revive,
    ...(secretive ? [wish, revive, revive, revive] : [state]),
  ];
};

const ending = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, random, recentHash, subjectOf, noise, strangeSignature, send } = liars;

  const refuse: Deed = (from, near) => {
    const { actionHash } = subjectOf(recentHash(), near);
    const reason = random.pick(["contact-policy", "withdrawn"] as const);
    const refusal = { kind: "refusal" as const, signerAgentId: from.id, actionHash, reason };
    const signature = random.chance(0.9) ? Statement.sign(from.signer, refusal) : strangeSignature();
    send(from, { ...refusal, signature }, random.chance(0.8));
  };

  const withdraw: Deed = (from, near) => {
    const { actionHash } = subjectOf(recentHash(), near);
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: from.id, actionHash };
    send(from, { ...withdrawal, signature: Statement.sign(from.signer, withdrawal) }, random.chance(0.8));
  };

  const accuse: Deed = (from) => {
    const head = () => ({ laneHead: Opaque32.fromBytes(noise(32)), signature: strangeSignature() });
    send(from, {
      kind: "equivocation_proof",
      conversationId: world.members.conversationId,
      routerInstanceId: world.routerInstanceId,
      lane: Opaque32.fromBytes(noise(32)),
      sequence: 1 + random.below(20),
      heads: [head(), head()],
    });
  };

  return [refuse, withdraw, accuse];
};

export const roundDeeds = (liars: Liars, secretive: boolean): ReadonlyArray<Deed> => [
  ...changing(liars, secretive),
  ...ending(liars),
];
