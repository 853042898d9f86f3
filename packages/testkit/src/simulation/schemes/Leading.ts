// Liars that lead a round make the most of it: they complete it from what honest members stated and from claims of their own
// that no certificate bears out, about the round of what is prepared or about its place.

import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { CompletedReanchor } from "@social-harness/protocol/history/Evidence";
import type * as Record from "@social-harness/protocol/history/Record";
import type * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Member } from "../FoldWorld.ts";
import { type Deed, headOf, type Liars } from "../Liars.ts";
import {
  liarLeading,
  orElse,
  roundAhead,
  sayAll,
  statedFor,
  statementOf,
  type StatementPacket,
} from "./Scheme.ts";

interface Ready {
  readonly core: Record.RecordCore;
  readonly subject: VerifyRecord.VoteSubject;
}

/** Records right above a member's head that have a certificate, with all liars' votes, and a statement that proves that head. */
export const certifiedAbove = (
  { world, cores, packets, allVotes }: Liars,
  near: Member,
): readonly [ReadonlyArray<Ready>, StatementPacket | undefined] => {
  const { n, quorum } = world.members;
  const { head } = near.disk.state;
  const height = (head?.height ?? -1) + 1;
  const ready = [...cores].slice(-50).flatMap(([recordHash, core]): ReadonlyArray<Ready> => {
    const { action } = core;
    if (action.height !== height || action.previousRecordHash !== headOf(near)) return [];
    const subject = VerifyRecord.subjectOf(recordHash, core);
    const votes = allVotes("action", subject);
    const isWhole = votes.length >= (height === 0 ? n : quorum);
    return isWhole && votes.some(({ signerAgentId }) => signerAgentId === action.authorAgentId)
      ? [{ core, subject }]
      : [];
  });
  const proof = packets.findLast(
    (packet) => packet.kind === "statement_packet" && packet.statement.head?.recordHash === headOf(near),
  );
  return [ready, proof?.kind === "statement_packet" ? proof : undefined];
};

type Prepared = Statement.ReanchorStatement["prepared"];

/**
 * A liar's re-anchor for the round that a member waits in: as many honest statements as it takes beside those of all liars,
 * which all claim `prepared`, and the body that these decide. Null while too few honest members have stated it.
 */
export const completedBy = (liars: Liars, near: Member, prepared: Prepared): CompletedReanchor | null => {
  const { world, members, random } = liars;
  const { conversationId, membershipHash, quorum, ids } = world.members;
  const round = roundAhead(near);
  const stated = statedFor(liars, round);
  const routerInstanceId = near.binding.instance.id;
  const willing = ids
    .flatMap((id) => stated.get(id) ?? [])
    .filter(({ statement }) => statement.routerInstanceId === routerInstanceId);
  if (willing.length + members.length < quorum) return null;
  while (willing.length + members.length > quorum) willing.splice(random.below(willing.length), 1);
  const bySigner = new Map(willing.map((packet) => [packet.statement.signerAgentId, packet]));
  const head = random.chance(0.5) ? null : (willing[0]?.statement.head ?? null);
  const statements = ids.flatMap((id) => {
    const liar = members.find((member) => member.id === id);
    const packet =
      liar === undefined ? bySigner.get(id) : statementOf(liars, liar, near, { round, head, prepared });
    return packet === undefined ? [] : [{ ...packet.statement, signature: packet.signature }];
  });
  const decision = Reanchor.decide(statements);
  if (decision === null) return null;
  const { base, carried } = decision;
  const below = base === null ? undefined : near.disk.records[base.height];
  if (base !== null && below === undefined) return null;
  return {
    kind: "completed_reanchor",
    body: {
      kind: "reanchor_body",
      conversationId,
      membershipHash,
      round,
      routerInstanceId,
      previousAnchorHash: below?.recordCore.anchorHash ?? null,
      baseRecordHash: base?.recordHash ?? null,
      carriedRecordHash: carried?.recordHash ?? null,
    },
    statements,
  };
};

/** What a member has open above its head, prepared or not, or a record that was certified long ago. */
const recordsOf = ({ disk }: Member): ReadonlyArray<RecordHash> => [
  ...disk.state.open.map(({ recordHash }) => recordHash),
  ...disk.records.slice(-2).map(({ recordHash }) => recordHash),
];

export const leading = (liars: Liars): ReadonlyArray<Deed> => {
  const { random } = liars;
  const claim = (_: Member, near: Member): boolean => {
    const leader = liarLeading(liars, roundAhead(near));
    const records = recordsOf(near);
    if (leader === null || records.length === 0) return false;
    const height = (near.disk.state.head?.height ?? -1) + 1;
    const prepared = near.disk.state.open.filter(({ action }) => Object.keys(action).length > 1);
    const recordHash =
      prepared.length > 0 && random.chance(0.7) ? random.pick(prepared).recordHash : random.pick(records);
    const round = Math.max(0, roundAhead(near) - 1 + random.below(2));
    const completed = completedBy(liars, near, { recordHash, height, round });
    if (completed !== null) sayAll(liars, leader, [completed]);
    return completed !== null;
  };
  /** Without an honest member's statement there is nothing to lead: liars hurry the others on to their round. */
  const hurry: Deed = (_, near) => {
    const [, proof] = certifiedAbove(liars, near);
    for (const liar of liars.members)
      sayAll(liars, liar, [
        {
          kind: "statement_packet",
          ...statementOf(liars, liar, near, {
            round: roundAhead(near),
            head: proof?.statement.head ?? null,
            prepared: null,
          }),
          headProof: proof?.headProof ?? null,
          preparedProof: null,
        },
      ]);
  };
  const lead = orElse(claim, hurry);
  return [lead];
};
