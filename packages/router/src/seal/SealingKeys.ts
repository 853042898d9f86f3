// X25519 key agreement (RFC 7748) behind a capability: the private key can agree, and nothing can read it.
// Refuses peers that force a known secret. Knows nothing of envelopes. Implements RTR-11.

import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from "node:crypto";
import { SealingKey } from "@social-harness/protocol/identity/Identifier";

/** Cryptographic randomness, passed in: exactly `byteCount` fresh bytes. */
export type Random = (byteCount: number) => Uint8Array;

/** The private half of a sealing key. */
export interface SealingSecret {
  readonly publicKey: SealingKey;
  /** The shared secret with a peer's public key; null for a key that no honest peer has (small order). */
  readonly agree: (peer: SealingKey) => Buffer | null;
}

const publicKeyOf = (key: SealingKey): KeyObject =>
  createPublicKey({ key: { kty: "OKP", crv: "X25519", x: key }, format: "jwk" });

/** A secret over raw 32 bytes of an X25519 private key. */
export const fromSeed = (seed: Uint8Array): SealingSecret => {
  if (seed.byteLength !== 32) throw new RangeError("an X25519 private key has 32 bytes");
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b656e04220420", "hex"), seed]);
  const privateKey = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
  const x = createPublicKey(privateKey).export({ format: "jwk" }).x as string;
  return {
    publicKey: SealingKey.fromBytes(Buffer.from(x, "base64url")),
    agree: (peer) => {
      try {
        return diffieHellman({ privateKey, publicKey: publicKeyOf(peer) });
      } catch {
        return null;
      }
    },
  };
};

/** A new private key's 32 bytes, for the state folder; `fromSeed` gives it its use. */
export const generateSeed = (random: Random): Uint8Array => random(32);
