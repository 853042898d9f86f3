import * as Packet from "@social-harness/protocol/conversation/Packet";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";

const isPacket = (value: Json): boolean => {
  try {
    Packet.decode(value);
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
};

/** A digit for each value: 1 for a packet, 0 for none. */
export const verdictsOf = (values: ReadonlyArray<Json>): string =>
  values.map((value) => (isPacket(value) ? "1" : "0")).join("");
