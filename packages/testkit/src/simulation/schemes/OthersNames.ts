// Liars that speak for others: every kind of packet that says who signed it, with honest members' names in it and no
// signature of theirs, or one that they made for something else.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as State from "@social-harness/protocol/conversation/State";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { AgentId, Ed25519Signature } from "@social-harness/protocol/identity/Identifier";
import type { Member } from "../FoldWorld.ts";
import type { Deed, Liars } from "../Liars.ts";
import { roundAhead, sayAll } from "./Scheme.ts";

export const othersNames = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, random, honest, cores, packets, strangeSignature, recentHash, subjectOf } = liars;
  const { conversationId } = world.members;

  /** What a member signed for something else. */
  const borrowed = (id: AgentId): Ed25519Signature | undefined => {
    const said = packets.findLast(
      (packet) => (packet.kind === "wish" || packet.kind === "refusal") && packet.signerAgentId === id,
    );
    return said !== undefined && "signature" in said ? said.signature : undefined;
  };
  /** A liar's own signature, another's for something else, or none that anybody made. */
  const signatureFor = (from: Member, of: AgentId, statement: Statement.Statement): Ed25519Signature => {
    const lie = random.below(3);
    if (lie === 0) return Statement.sign(from.signer, statement);
    return (lie === 1 ? borrowed(of) : undefined) ?? strangeSignature();
  };
  /** What a member is about to vote for, or has voted for. */
  const targetOf = ({ disk }: Member) => {
    const { open, slot } = disk.state;
    const locked = open.find(({ recordHash }) => recordHash === slot.lock);
    return locked ?? (open.length === 0 ? null : random.pick(open));
  };

  const refuseForAll: Deed = (from, near) => {
    const actionHash = targetOf(near)?.actionHash ?? subjectOf(recentHash(), near).actionHash;
    const reason = random.pick(["contact-policy", "withdrawn"] as const);
    const refusals = [...honest, from].map(({ id, signer }): Packet => {
      const refusal = { kind: "refusal" as const, signerAgentId: id, actionHash, reason };
      const signature = id === from.id ? Statement.sign(signer, refusal) : signatureFor(from, id, refusal);
      return { ...refusal, signature };
    });
    sayAll(liars, from, refusals);
  };

  const withdrawForAll: Deed = (from, near) => {
    const withdrawals = near.disk.state.open.map(({ author, actionHash }): Packet => {
      const withdrawal = { kind: "withdrawal" as const, authorAgentId: author, actionHash };
      return { ...withdrawal, signature: signatureFor(from, author, withdrawal) };
    });
    // One that comes at once with its proposal finds members that have yet to vote.
    const [recordHash, core] = [...cores].at(-1) ?? [];
    if (recordHash !== undefined && core !== undefined && withdrawals.length === 0) {
      const { actionHash, action } = core;
      const author = action.authorAgentId;
      const withdrawal = { kind: "withdrawal" as const, authorAgentId: author, actionHash };
      withdrawals.push({ ...withdrawal, signature: signatureFor(from, author, withdrawal) });
    }
    sayAll(liars, from, withdrawals);
  };

  const wishForAll: Deed = (from, near) => {
    const round = roundAhead(near) + random.below(2);
    const wishes = honest.map(({ id, binding }): Packet => {
      const wish = {
        kind: "wish" as const,
        signerAgentId: id,
        conversationId,
        round,
        routerInstanceId: binding.instance.id,
      };
      return { ...wish, signature: signatureFor(from, id, wish) };
    });
    sayAll(liars, from, wishes);
  };

  const stateForAll: Deed = (from, near) => {
    const models = packets.filter((packet) => packet.kind === "statement_packet").slice(-honest.length);
    const round = roundAhead(near) + random.below(2);
    const statements = models.map((model): Packet => {
      const statement = { ...model.statement, round };
      const isOwn = random.chance(0.5);
      const signature = isOwn ? model.signature : signatureFor(from, statement.signerAgentId, statement);
      return { ...model, statement, signature };
    });
    sayAll(liars, from, statements);
  };

  const voteForAll: Deed = (from, near) => {
    const target = targetOf(near);
    const subject = target === null ? subjectOf(recentHash(), near) : State.subjectOf(target, conversationId);
    const voted = <S extends Statement.Statement>(of: (id: AgentId) => S) =>
      honest.map(({ id }) => ({ ...of(id), signature: signatureFor(from, id, of(id)) }));
    sayAll(liars, from, [
      {
        kind: "vote_packet",
        actionVotes: voted((id) => VerifyRecord.actionVoteOf(subject, id)),
        durabilityVotes: voted((id) => VerifyRecord.durabilityVoteOf(subject, id)),
        carryVotes: voted((id) => VerifyRecord.carryVoteOf(subject, id)),
      },
    ]);
  };
  return [refuseForAll, refuseForAll, withdrawForAll, wishForAll, stateForAll, voteForAll];
};
