// Which X25519 public keys may stand in a card. A key of small order gives every sender the same all-zero secret, so
// whatever is sealed to it is readable by the Router. Agreement itself is done by whoever seals. Implements IDN-06.

import { SealingKey } from "./Identifier.ts";

const p = 2n ** 255n - 19n;

/** The u coordinates of the points whose order divides 8, on the curve and on its twist (RFC 7748, section 7). */
const smallOrderU = new Set([
  0n,
  1n,
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
  p - 1n,
]);

/**
 * Whether a shared secret with this key depends on the other side's key. X25519 reads a key modulo p and without its
 * top bit, so every spelling of a small-order point is refused, and no other key is.
 */
export const isContributory = (sealingKey: SealingKey): boolean => {
  const bigEndian = SealingKey.toBytes(sealingKey).reverse();
  bigEndian[0] = (bigEndian[0] as number) & 0x7f;
  return !smallOrderU.has(BigInt("0x" + bigEndian.toString("hex")) % p);
};
