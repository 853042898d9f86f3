// Deliveries before their turns. Each is opened and decoded as it arrives, and meanwhile the thread pool verifies what its turn
// will ask about: the Router's signature, the sender's, and those of the packets. Nothing is believed here and nothing decided:
// the turn asks everything again, and finds the answers at hand. Implements HIS-119.

import type * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import { claimsIn } from "@social-harness/protocol/conversation/Signatures";
import * as Statement from "@social-harness/protocol/history/Statement";
import type { RouterInstanceId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import type { VerifierAhead } from "@social-harness/protocol/identity/VerifierAhead";
import * as Limits from "@social-harness/protocol/Limits";
import type { Delivery } from "@social-harness/router/client/RouterClient";
import type { Opener } from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import * as Lane from "@social-harness/router/wire/Lane";
import * as Schema from "effect/Schema";
import type { Database } from "../store/Database.ts";
import * as Cards from "./Cards.ts";
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

export interface OpeningsOptions {
  readonly db: Database;
  readonly opener: Opener;
  readonly ahead: VerifierAhead;
  readonly routerKey: SigningKey;
}

export interface Openings {
  /** Does for a delivery what needs no order. An own copy is believed by its bytes and not opened. */
  readonly prepare: (delivery: Delivery, routerInstanceId: RouterInstanceId, isOwn: boolean) => Promise<void>;
  /** What a delivery holds, opened now if it was not prepared. */
  readonly open: (origin: Origin) => Opened | Unopened;
}

/** Signatures of one envelope that are begun ahead: those of the largest group's certificate, and not all that a liar can pack. */
const begunPerEnvelopeMax = 64;

const decodePacket = (json: CanonicalJson.Json): ReadonlyArray<Packet.Packet> => {
  try {
    return [Packet.decode(json)];
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [];
  }
};

export const createOpenings = ({ db, opener, ahead, routerKey }: OpeningsOptions): Openings => {
  const prepared = new WeakMap<Envelope.Envelope, Opened | Unopened>();

  const openNow = (origin: Origin): Opened | Unopened => {
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

  /** Asks what the turn will ask of the packets, with the cards that are here. */
  const askOf = (verifier: Verifier, packets: ReadonlyArray<Packet.Packet>): void => {
    for (const { signerAgentId, statement, signature } of packets
      .flatMap(claimsIn)
      .slice(0, begunPerEnvelopeMax)) {
      const signer = Cards.byId(db, signerAgentId);
      if (signer !== null) Statement.verify(verifier, signer.signingKey, statement, signature);
    }
  };

  return {
    prepare: (delivery, routerInstanceId, isOwn) =>
      ahead.begin((verifier) => {
        const { lane, sequence, laneHead, signature, envelope, envelopeText } = delivery;
        Lane.verify(verifier, routerKey, { routerInstanceId, lane, sequence, laneHead }, signature);
        if (isOwn) return;
        const sender = Cards.byId(db, envelope.senderAgentId);
        if (sender !== null)
          Envelope.verifyText(verifier, sender.signingKey, envelopeText, envelope.signature);
        const opened = openNow({ envelope, envelopeText, lane, sequence });
        prepared.set(envelope, opened);
        if (sender !== null && "packets" in opened) askOf(verifier, opened.packets);
      }),
    open: (origin) => prepared.get(origin.envelope) ?? openNow(origin),
  };
};
