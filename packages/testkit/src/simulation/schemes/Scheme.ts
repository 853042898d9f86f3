// What liars may make their business in a run: one kind of lie, told again and again with all that they know. Each file of
// this folder has one of them. What liars do besides is Byzantine.ts's and ByzantineRounds.ts's.

import type { Packet, PacketOf } from "@social-harness/protocol/conversation/Packet";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { Ed25519Signature } from "@social-harness/protocol/identity/Identifier";
import * as Statement from "@social-harness/protocol/history/Statement";
import type { Member } from "../FoldWorld.ts";
import type { Deed, Liars } from "../Liars.ts";

export type StatementPacket = PacketOf<"statement_packet">;

/** Several packets in one envelope, to everybody: a lie that takes many words is heard whole. */
export const sayAll = ({ world }: Liars, from: Member, packets: ReadonlyArray<Packet>): void => {
  if (packets.length > 0) world.accept(from.id, { to: "lane", packets });
};

/** The round that a member is about to enter, or is waiting in. */
export const roundAhead = ({ disk }: Member): number => {
  const { anchor, rounds } = disk.state;
  return rounds.bound > (anchor?.round ?? 0) ? rounds.bound : rounds.bound + 1;
};

/** The statements that members made for a round, the latest of each. */
export const statedFor = ({ packets }: Liars, round: number): ReadonlyMap<string, StatementPacket> => {
  const latest = new Map<string, StatementPacket>();
  for (const packet of packets)
    if (packet.kind === "statement_packet" && packet.statement.round === round)
      latest.set(packet.statement.signerAgentId, packet);
  return latest;
};

/** A liar's own statement for a round, with claims of any kind. */
export const statementOf = (
  { world }: Liars,
  { id, signer }: Member,
  near: Member,
  claims: Pick<Statement.ReanchorStatement, "round" | "head" | "prepared">,
): { readonly statement: Statement.ReanchorStatement; readonly signature: Ed25519Signature } => {
  const { conversationId, membershipHash } = world.members;
  const statement: Statement.ReanchorStatement = {
    kind: "reanchor_statement",
    signerAgentId: id,
    conversationId,
    membershipHash,
    routerInstanceId: near.binding.instance.id,
    ...claims,
  };
  return { statement, signature: Statement.sign(signer, statement) };
};

/** The liar that leads the round that a member is about to enter, if one does. */
export const liarLeading = ({ world, members }: Liars, round: number): Member | null =>
  members.find(({ id }) => id === Reanchor.leaderOf(world.members, round)) ?? null;

/** Deeds that give way to another where they find nothing to do. */
export const orElse =
  (deed: (from: Member, near: Member) => boolean, otherwise: Deed): Deed =>
  (from, near) => {
    if (!deed(from, near)) otherwise(from, near);
  };
