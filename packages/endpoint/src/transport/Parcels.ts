// Which packets of a turn travel together: those that go the same way, in their order, within the size of one plaintext.
// Knows sizes and ways, nothing of sealing. Implements HIS-14.

import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import type { AgentId, ConversationId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { Send } from "../conversations/Conversations.ts";

export interface Parcel {
  readonly conversationId: ConversationId;
  readonly to: "lane" | AgentId;
  readonly packets: Array<Packet>;
  readonly texts: Array<string>;
  bytes: number;
  hasProposal: boolean;
}

/** Room for the plaintext's own fields beside its packets: a `seen` head is under 400 bytes. */
const plaintextFrameBytes = 512;

/** Groups packets that go the same way, in their order, while they fit; a packet too large for company goes alone. */
export const pack = (sends: ReadonlyArray<Send>): ReadonlyArray<Parcel> => {
  const parcels: Array<Parcel> = [];
  const openParcels = new Map<string, Parcel>();
  for (const { conversationId, to, packet } of sends) {
    const text = CanonicalJson.encode(packet as CanonicalJson.Json);
    const bytes = Buffer.byteLength(text, "utf8") + 1;
    const way = `${conversationId} ${to}`;
    const parcel = openParcels.get(way);
    if (parcel !== undefined && parcel.bytes + bytes <= Limits.packetBytesMax - plaintextFrameBytes) {
      parcel.packets.push(packet);
      parcel.texts.push(text);
      parcel.bytes += bytes;
      parcel.hasProposal ||= packet.kind === "proposal_packet";
      continue;
    }
    const hasProposal = packet.kind === "proposal_packet";
    const fresh: Parcel = { conversationId, to, packets: [packet], texts: [text], bytes, hasProposal };
    openParcels.set(way, fresh);
    parcels.push(fresh);
  }
  return parcels;
};
