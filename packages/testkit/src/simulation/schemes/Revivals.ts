// Liars that keep a certificate back until its round is over and its record forgotten, and then bring it back: as a
// statement's proof, for whoever asks, with other votes than before, and with the withdrawal of what comes back.

import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { sorted } from "@social-harness/protocol/history/Evidence";
import type { Member } from "../FoldWorld.ts";
import type { Deed, Liars } from "../Liars.ts";
import { certifiedAbove } from "./Leading.ts";
import { orElse, roundAhead, sayAll, statementOf } from "./Scheme.ts";

export const revivals = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, members, random, honest, cores, packets, allVotes, newCore, proposal } = liars;
  const { quorum } = world.members;
  const isLiar = (id: string): boolean => members.some((member) => member.id === id);

  const propose: Deed = (from, near) => sayAll(liars, from, [proposal(from, newCore(from, near))]);

  /** Posts of which a proposal was withdrawn: another of an earlier round may do. */
  const withdrawnPosts = (): ReadonlySet<string> => {
    const ended = new Set<string>();
    for (const packet of packets.slice(-300)) if (packet.kind === "withdrawal") ended.add(packet.actionHash);
    return new Set(
      [...cores.values()]
        .filter(({ actionHash }) => ended.has(actionHash))
        .map(({ action }) => action.postIntent.postId),
    );
  };

  /** The certificate of a record that most have forgotten, stated to the leader of the next round. */
  const revive = (from: Member, near: Member): boolean => {
    const round = roundAhead(near);
    const leader = honest.find(({ id }) => id === Reanchor.leaderOf(world.members, round)) ?? near;
    const [ready, head] = certifiedAbove(liars, leader);
    const gone = ready.filter(({ subject }) => !leader.disk.cores.has(subject.recordHash));
    const ended = ready.filter(({ core }) => withdrawnPosts().has(core.action.postIntent.postId));
    const pool = ended.length > 0 ? ended : gone.length > 0 ? gone : ready;
    if (pool.length === 0) return false;
    const { subject, core } = random.pick(pool);
    const anchor = liars.anchorOf(core.anchorHash);
    if (anchor === null) return false;
    const own = Reanchor.bodyOf(anchor);
    if (own.round >= round) return false;
    const { recordHash, height } = subject;
    const { conversationId: _, ...action } = { ...subject, signatures: allVotes("action", subject) };
    sayAll(liars, from, [
      {
        kind: "statement_packet",
        ...statementOf(liars, from, leader, {
          round,
          head: head?.statement.head ?? null,
          prepared: { recordHash, height, round: own.round },
        }),
        headProof: head?.headProof ?? null,
        preparedProof: { action, anchor: own, carry: null },
      },
    ]);
    return true;
  };

  /** What a member asked for, without its own vote where the others' are enough. */
  const answer = (from: Member, near: Member): boolean => {
    const { rounds } = near.disk.state;
    const wanted = [
      rounds.statements.flatMap(({ statement }) => statement.prepared?.recordHash ?? []),
      rounds.pending?.body.carriedRecordHash ?? [],
    ]
      .flat()
      .filter((recordHash) => !near.disk.cores.has(recordHash) && cores.has(recordHash));
    if (wanted.length === 0) return false;
    const recordHash = random.pick(wanted);
    const recordCore = cores.get(recordHash);
    const routerAnchor = recordCore === undefined ? null : liars.anchorOf(recordCore.anchorHash);
    if (recordCore === undefined || routerAnchor === null) return false;
    const all = allVotes("action", VerifyRecord.subjectOf(recordHash, recordCore));
    const others = all.filter(({ signerAgentId }) => signerAgentId !== near.id);
    const actionSignatures = sorted(others.length >= quorum ? others : all);
    liars.unicast(from, near, { kind: "record_response", recordCore, routerAnchor, actionSignatures });
    return true;
  };

  /** Withdraws what has come back. */
  const withdraw = (_: Member, near: Member): boolean => {
    const back = near.disk.state.open.filter(
      ({ author, recordHash }) => isLiar(author) && cores.has(recordHash),
    );
    const anchored = back.filter(({ anchorHash }) => anchorHash !== near.disk.state.anchor?.anchorHash);
    if (anchored.length === 0) return false;
    const { author, actionHash } = random.pick(anchored);
    const liar = members.find(({ id }) => id === author);
    if (liar === undefined) return false;
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: author, actionHash };
    sayAll(liars, liar, [{ ...withdrawal, signature: Statement.sign(liar.signer, withdrawal) }]);
    return true;
  };

  const bringBack = orElse(revive, propose);
  return [
    propose,
    bringBack,
    bringBack,
    orElse(answer, bringBack),
    orElse(withdraw, orElse(answer, bringBack)),
  ];
};
