// What an envelope holds, opened and decoded. Nothing is believed here: whose it is and whether that is so is for the turn.

import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Limits from "@social-harness/protocol/Limits";
import type { Opener } from "@social-harness/router/seal/Sealing";
import * as Schema from "effect/Schema";
import * as LaneHeads from "./LaneHeads.ts";
import type { Origin } from "./Places.ts";
import { latestOf } from "./RoundWords.ts";

const decodePlaintext = Closed.bytesDecoder(
  Schema.Struct({
    packets: Schema.Array(Schema.Json).check(Schema.isMinLength(1)),
    seen: Schema.NullOr(LaneHeads.Seen),
  }),
  { bytesMax: Limits.packetBytesMax + 2_048, depthMax: Limits.jsonDepthMax },
);

/** What an envelope holds, as far as it decodes; of what it says about rounds the latest. */
export interface Opened extends Origin {
  readonly seen: LaneHeads.Seen | null;
  readonly packets: ReadonlyArray<Packet.Packet>;
  /** Packets of no known closed shape. */
  readonly refused: number;
}

/** Why there is nothing to believe in an envelope. */
export interface Unopened {
  readonly problem: string;
}

const decodePacket = (json: CanonicalJson.Json): ReadonlyArray<Packet.Packet> => {
  try {
    return [Packet.decode(json)];
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [];
  }
};

/** Everything that an envelope holds, or why it holds nothing. */
export const open = (opener: Opener, origin: Origin): Opened | Unopened => {
  const sealed = opener.open(origin.envelope.sealed);
  if (sealed === null) return { problem: "it does not open" };
  try {
    const plaintext = decodePlaintext(sealed);
    const packets = plaintext.packets.flatMap(decodePacket);
    const refused = plaintext.packets.length - packets.length;
    return { ...origin, packets: latestOf(packets), seen: plaintext.seen, refused };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { problem: `its plaintext is refused: ${error.message}` };
  }
};
