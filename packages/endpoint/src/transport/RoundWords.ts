// What an envelope says about rounds, at most once for each conversation: of several wishes of one signer, or several
// statements, the one for the latest round says everything that the others do. Believes nothing. Implements HIS-171.

import type * as Packet from "@social-harness/protocol/conversation/Packet";

/** Whose word about which conversation a packet is, and for which round; null when it is about no round. */
const wordOf = (packet: Packet.Packet): { readonly of: string; readonly round: number } | null => {
  if (packet.kind !== "wish" && packet.kind !== "statement_packet") return null;
  const { conversationId, signerAgentId, round } = packet.kind === "wish" ? packet : packet.statement;
  return { of: `${packet.kind} ${conversationId} ${signerAgentId}`, round };
};

/** The packets of one envelope in their order, without the words that another of them outdoes. */
export const latestOf = (packets: ReadonlyArray<Packet.Packet>): ReadonlyArray<Packet.Packet> => {
  const latest = new Map<string, { readonly packet: Packet.Packet; readonly round: number }>();
  for (const packet of packets) {
    const word = wordOf(packet);
    if (word !== null && word.round >= (latest.get(word.of)?.round ?? 0))
      latest.set(word.of, { packet, round: word.round });
  }
  return packets.filter((packet) => {
    const word = wordOf(packet);
    return word === null || latest.get(word.of)?.packet === packet;
  });
};
