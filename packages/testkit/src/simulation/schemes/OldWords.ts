// Liars that repeat what was true once: packets of a Router that is gone, rounds stated and completed in its name, and to
// members whose memory may be lost the votes that they cast before.

import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import type { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Statement from "@social-harness/protocol/history/Statement";
import type { Member } from "../FoldWorld.ts";
import type { Deed, Liars } from "../Liars.ts";
import { completedBy } from "./Leading.ts";
import { liarLeading, orElse, roundAhead, sayAll } from "./Scheme.ts";

export const oldWords = (liars: Liars): ReadonlyArray<Deed> => {
  const { world, random, honest, cores, allVotes } = liars;
  const said: Array<{ readonly packet: Packet; readonly under: RouterInstanceId }> = [];
  world.onAccepted.push(({ packets }) => {
    for (const packet of packets) said.push({ packet, under: world.routerInstanceId });
  });

  /** Words of another Router's time, those that need no sender of their own among them. */
  const replay = (from: Member): boolean => {
    const former = said.filter(({ under }) => under !== world.routerInstanceId).slice(-40);
    const old = former.length > 0 ? former : said.slice(0, -20);
    if (old.length === 0) return false;
    sayAll(liars, from, [random.pick(old).packet, random.pick(old).packet]);
    return true;
  };

  /** A round in the name of a Router that is gone. */
  const completeFormer = (_: Member, near: Member): boolean => {
    const leader = liarLeading(liars, roundAhead(near));
    const former = said.find(({ under }) => under !== near.binding.instance.id)?.under;
    const completed = leader === null ? null : completedBy(liars, near, null);
    if (leader === null || former === undefined || completed === null) return false;
    sayAll(liars, leader, [{ ...completed, body: { ...completed.body, routerInstanceId: former } }]);
    return true;
  };

  const wishFormer: Deed = (from, near) => {
    const former = said[0]?.under ?? world.routerInstanceId;
    const wish = {
      kind: "wish" as const,
      signerAgentId: from.id,
      conversationId: world.members.conversationId,
      round: roundAhead(near),
      routerInstanceId: former,
    };
    sayAll(liars, from, [{ ...wish, signature: Statement.sign(from.signer, wish) }]);
  };

  /** Shows a member its own votes, above all one that may have forgotten them. */
  const remind = (from: Member, near: Member): boolean => {
    const victim = honest.find(({ hasForgotten }) => hasForgotten) ?? near;
    const open = victim.disk.state.open.filter(({ recordHash }) => cores.has(recordHash));
    if (open.length === 0) return false;
    const { recordHash } = random.pick(open);
    const core = cores.get(recordHash);
    if (core === undefined) return false;
    const subject = VerifyRecord.subjectOf(recordHash, core);
    const own = (kind: "action" | "durability") =>
      allVotes(kind, subject).filter(({ signerAgentId }) => signerAgentId === victim.id);
    const actionVotes = own("action").map((entry) => ({
      ...VerifyRecord.actionVoteOf(subject, victim.id),
      signature: entry.signature,
    }));
    const durabilityVotes = own("durability").map((entry) => ({
      ...VerifyRecord.durabilityVoteOf(subject, victim.id),
      signature: entry.signature,
    }));
    liars.unicast(from, victim, { kind: "vote_packet", actionVotes, durabilityVotes, carryVotes: [] });
    return true;
  };

  const again = orElse(replay, wishFormer);
  return [again, again, orElse(completeFormer, again), wishFormer, orElse(remind, again)];
};
