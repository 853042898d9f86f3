// Liars that show anchors of their own making where another was signed for: beside certificates in proofs, beside records that
// are fetched, and in rounds that they lead.

import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type * as Record from "@social-harness/protocol/history/Record";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Member } from "../FoldWorld.ts";
import type { Deed, Liars } from "../Liars.ts";
import { certifiedAbove, completedBy } from "./Leading.ts";
import { liarLeading, orElse, roundAhead, sayAll, statementOf } from "./Scheme.ts";

/** The records that a member would take from whoever shows them. */
const wantedBy = ({ disk }: Member): ReadonlyArray<RecordHash> => {
  const { rounds, behind } = disk.state;
  return [
    behind?.missing?.recordHash ?? [],
    rounds.pending?.body.carriedRecordHash ?? [],
    rounds.statements.flatMap(({ statement }) => statement.prepared?.recordHash ?? []),
  ].flat();
};

export const strangeAnchors = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, random, honest, cores, allVotes } = liars;
  const { conversationId, membershipHash } = world.members;

  const genesisAnchor = (near: Member, round: number): Record.GenesisAnchor => ({
    kind: "genesis_anchor",
    conversationId,
    membershipHash,
    round,
    routerInstanceId: near.binding.instance.id,
  });

  /** An old certificate, with the body of a late round beside it. */
  const provePrepared = (from: Member, near: Member): boolean => {
    const round = roundAhead(near);
    const leader = honest.find(({ id }) => id === Reanchor.leaderOf(world.members, round)) ?? near;
    const [ready, head] = certifiedAbove(liars, leader);
    if (ready.length === 0) return false;
    const { subject, core } = random.pick(ready);
    const anchor = liars.anchorOf(core.anchorHash);
    if (anchor === null) return false;
    const claimed = Math.max(0, round - 1 - random.below(2));
    const body = Reanchor.bodyOf(anchor);
    const anchorShown = random.chance(0.5) ? { ...body, round: claimed } : genesisAnchor(near, claimed);
    const { recordHash, height } = subject;
    const { conversationId: _, ...action } = { ...subject, signatures: allVotes("action", subject) };
    sayAll(liars, from, [
      {
        kind: "statement_packet",
        ...statementOf(liars, from, leader, {
          round,
          head: head?.statement.head ?? null,
          prepared: { recordHash, height, round: claimed },
        }),
        headProof: head?.headProof ?? null,
        preparedProof: { action, anchor: anchorShown, carry: null },
      },
    ]);
    return true;
  };

  /** The true core and votes of what a member waits for, with an anchor that they were not made under. */
  const respond = (from: Member, near: Member): boolean => {
    const wanted = wantedBy(near).filter((recordHash) => cores.has(recordHash));
    if (wanted.length === 0) return false;
    const recordHash = random.pick(wanted);
    const recordCore = cores.get(recordHash);
    if (recordCore === undefined) return false;
    const subject = VerifyRecord.subjectOf(recordHash, recordCore);
    liars.unicast(from, near, {
      kind: "record_response",
      recordCore,
      routerAnchor: genesisAnchor(near, random.below(roundAhead(near) + 1)),
      actionSignatures: allVotes("action", subject),
    });
    return true;
  };

  /** As leader: a round that follows another anchor than its base's. */
  const leadAstray = (_: Member, near: Member): boolean => {
    const round = roundAhead(near);
    const leader = liarLeading(liars, round);
    if (leader === null) return false;
    const completed = completedBy(liars, near, null);
    if (completed === null || completed.body.baseRecordHash === null) return false;
    const anchors = [...near.disk.anchors.keys()].filter(
      (hash) => hash !== completed.body.previousAnchorHash,
    );
    const previousAnchorHash = anchors.length === 0 ? null : random.pick(anchors);
    if (previousAnchorHash === null) return false;
    sayAll(liars, leader, [{ ...completed, body: { ...completed.body, previousAnchorHash } }]);
    return true;
  };

  /** As leader: a true round that some are not told of, who will lack its anchor when they need it. */
  const leadFew = (_: Member, near: Member): boolean => {
    const leader = liarLeading(liars, roundAhead(near));
    const completed = leader === null ? null : completedBy(liars, near, null);
    if (leader === null || completed === null) return false;
    liars.multicast(leader, completed, new Set([random.pick(honest).id]));
    return true;
  };

  const nothing: Deed = () => undefined;
  const prove = orElse(provePrepared, nothing);
  const answer = orElse(respond, prove);
  return [prove, prove, answer, answer, orElse(leadAstray, prove), orElse(leadFew, answer)];
};
