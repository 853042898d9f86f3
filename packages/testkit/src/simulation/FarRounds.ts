// Rounds far beyond those that anybody is at: what Byzantine members wish for and state, and the slip by which a member of any
// conversation, honest in everything else, wishes for one. A wish binds nobody, so no slip of one may last.

import * as Statement from "@social-harness/protocol/history/Statement";
import * as Limits from "@social-harness/protocol/Limits";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { Member, World } from "./FoldWorld.ts";
import type { Deed, Liars } from "./Liars.ts";
import type { Random } from "./Random.ts";

/** A little beyond what is followed at once, far beyond it, or the last round that there is a number for. */
const farRound = (random: Random, { disk }: Member): number => {
  const { bound } = disk.state.rounds;
  return random.pick([
    bound + Limits.roundsAheadMax + random.below(3),
    bound + random.below(100_000),
    Number.MAX_SAFE_INTEGER - random.below(2),
  ]);
};

const wishOf = ({ members, routerInstanceId }: World, { id, signer }: Member, round: number): Packet => {
  const { conversationId } = members;
  const wish = { kind: "wish" as const, signerAgentId: id, conversationId, round, routerInstanceId };
  return { ...wish, signature: Statement.sign(signer, wish) };
};

/** A member wishes, once and in the lane, for a round of no cause. */
export const slip = (world: World, member: Member, random: Random): void =>
  world.accept(member.id, { to: "lane", packets: [wishOf(world, member, farRound(random, member))] });

export const farDeeds = ({ world, random, packets, send }: Liars): ReadonlyArray<Deed> => {
  const wish: Deed = (from, near) =>
    send(from, wishOf(world, from, farRound(random, near)), random.chance(0.9));

  /** The last statement that was heard, of a far round and with its proofs: believed in everything but that. */
  const state: Deed = (from, near) => {
    const model = packets.findLast((packet) => packet.kind === "statement_packet");
    if (model?.kind !== "statement_packet") return wish(from, near);
    const statement = { ...model.statement, signerAgentId: from.id, round: farRound(random, near) };
    send(
      from,
      { ...model, statement, signature: Statement.sign(from.signer, statement) },
      random.chance(0.9),
    );
  };

  return [wish, state];
};
