// How packets travel: as values where a run is about order, or sealed to the members in earnest, so that an envelope opens
// only where its keys let it and says only what the closed decoders take.

import { createHmac } from "node:crypto";
import * as Packets from "@social-harness/protocol/conversation/Packet";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import type { Sealed, SealedRecipient } from "@social-harness/router/seal/Sealed";
import * as Sealing from "@social-harness/router/seal/Sealing";
import type { SealingSecret } from "@social-harness/router/seal/SealingKeys";
import * as Schema from "effect/Schema";
import type { Envelope } from "./Router.ts";

type PacketList = ReadonlyArray<Packets.Packet>;

export interface Wire {
  /** Whether packets go through the closed decoders on their way. */
  readonly seals: boolean;
  /** Seals to `recipients`, spoiling the entries of those who must not open it. Null where nothing is sealed. */
  readonly seal: (
    from: AgentId,
    recipients: ReadonlyArray<AgentId>,
    packets: PacketList,
    closedTo: ReadonlySet<AgentId>,
  ) => Sealed | null;
  /** What an envelope says to one member, or null when it does not open there. */
  readonly open: (envelope: Envelope, to: AgentId) => PacketList | null;
}

export const plainWire: Wire = {
  seals: false,
  seal: () => null,
  open: ({ packets, closedTo }, to) => (closedTo.has(to) ? null : packets),
};

const decodePlaintext = Closed.bytesDecoder(
  Schema.Struct({ packets: Schema.Array(Schema.Json), seen: Schema.Null }),
  { bytesMax: Limits.packetBytesMax + 2_048, depthMax: Limits.jsonDepthMax },
);

/** What the closed decoder takes of a list of packets: the others are passed over one by one. */
const decoded = (packets: ReadonlyArray<unknown>): PacketList =>
  packets.flatMap((packet) => {
    try {
      return [Packets.decode(packet as CanonicalJson.Json)];
    } catch (error) {
      if (error instanceof DecodeError) return [];
      throw error;
    }
  });

/** The wrapped key with its first bits turned: whoever it was for cannot unwrap it. */
const spoilt = (entry: SealedRecipient): SealedRecipient => {
  const key = Buffer.from(entry.encrypted_key, "base64url");
  key[0] = (key[0] ?? 0) ^ 0xff;
  return { ...entry, encrypted_key: key.toString("base64url") };
};

/** Seals with the product's own sealing; its random bytes come from `seed`, so that a run repeats itself. */
export const sealedWire = (secrets: ReadonlyMap<AgentId, SealingSecret>, seed: number): Wire => {
  let draws = 0;
  const random = (byteCount: number): Uint8Array =>
    createHmac("sha512", `sealing ${seed}`).update(String(draws++)).digest().subarray(0, byteCount);
  const sealers = new Map<AgentId, Sealing.Sealer>();
  const openers = new Map<AgentId, Sealing.Opener>();
  for (const [agentId, sealingKey] of secrets) {
    sealers.set(agentId, Sealing.createSealer({ random, clock: () => 0 }));
    openers.set(agentId, Sealing.createOpener({ agentId, sealingKey }));
  }
  const recipientOf = (agentId: AgentId): Sealing.Recipient => {
    const secret = secrets.get(agentId);
    if (secret === undefined) throw new Error("an envelope to somebody who is not a member");
    return { agentId, sealingKey: secret.publicKey };
  };
  return {
    seals: true,
    seal: (from, recipients, packets, closedTo) => {
      const plaintext = CanonicalJson.encodeBytes({ packets, seen: null } as CanonicalJson.Json);
      const sealed = sealers.get(from)?.seal(recipients.map(recipientOf), plaintext) ?? null;
      if (sealed === null || closedTo.size === 0) return sealed;
      const entries = sealed.recipients.map((entry) =>
        closedTo.has(entry.header.kid) ? spoilt(entry) : entry,
      );
      return { ...sealed, recipients: entries };
    },
    open: ({ sealed }, to) => {
      const plaintext = sealed === null ? null : (openers.get(to)?.open(sealed) ?? null);
      return plaintext === null ? null : decoded(decodePlaintext(plaintext).packets);
    },
  };
};
