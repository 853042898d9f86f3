// Ed25519 (RFC 8032) verification in one strict profile, the same at every member whatever library verifies:
// canonical encodings of A and R, S < L, small-order A and R refused, cofactorless equation. Implements FND-12.
// Holds no private key beyond the signer it was asked to make.

import {
  createPrivateKey,
  createPublicKey,
  sign as signBytes,
  verify as verifyBytes,
  type KeyObject,
} from "node:crypto";
import { preimageOfText } from "../encoding/Hash.ts";
import { Ed25519Signature, SigningKey } from "./Identifier.ts";
import { type Signer, signerOf, type Verifier, verifierOf } from "./Signing.ts";

const fieldPrime = Buffer.from("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed", "hex");
const groupOrder = Buffer.from("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", "hex");

/** Big-endian y coordinates of the points whose order divides 8. The sign of x does not matter. */
const smallOrderY = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000001",
  "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec",
  "7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7",
  "05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826",
]);

/** Whether 32 bytes are a canonical point encoding that is not of small order. Says nothing about being on the curve. */
export const isStrictPoint = (encoding: Uint8Array): boolean => {
  const y = Buffer.from(encoding).reverse();
  y[0] = (y[0] as number) & 0x7f;
  return Buffer.compare(y, fieldPrime) < 0 && !smallOrderY.has(y.toString("hex"));
};

const p = 2n ** 255n - 19n;
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n;
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % p;
    square = (square * square) % p;
  }
  return result;
};

/**
 * Whether the y of a canonical encoding belongs to a point: x^2 = (y^2 - 1) / (d y^2 + 1) must be a square (Euler's
 * criterion). node:crypto takes any 32 bytes as a key and would only fail later, at the first signature.
 */
const isOnCurve = (encoding: Uint8Array): boolean => {
  const bigEndian = Buffer.from(encoding).reverse();
  bigEndian[0] = (bigEndian[0] as number) & 0x7f;
  const y = BigInt("0x" + bigEndian.toString("hex"));
  const y2 = (y * y) % p;
  return power((((y2 + p - 1n) % p) * (d * y2 + 1n)) % p, (p - 1n) / 2n) !== p - 1n;
};

const isCanonicalScalar = (encoding: Uint8Array): boolean =>
  Buffer.compare(Buffer.from(encoding).reverse(), groupOrder) < 0;

/** Verifies a raw signature (64 bytes) over a message with a raw public key (32 bytes) in the strict profile. */
export const verifyRaw = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
  if (publicKey.byteLength !== 32 || !isStrictPoint(publicKey)) return false;
  const key = keyObjectOf(Buffer.from(publicKey).toString("base64url"));
  return key !== null && verifyWith(key, message, signature);
};

const verifyWith = (key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean =>
  signature.byteLength === 64 &&
  isStrictPoint(signature.subarray(0, 32)) &&
  isCanonicalScalar(signature.subarray(32)) &&
  verifyBytes(null, message, key, signature);

const keyCacheMax = 4_096;
const keys = new Map<string, KeyObject | null>();

/** Parsed keys are kept, oldest dropped first: parsing costs as much as a tenth of a verification. */
const keyObjectOf = (publicKey: string): KeyObject | null => {
  const known = keys.get(publicKey);
  if (known !== undefined) return known;
  let key: KeyObject | null = null;
  const encoding = Buffer.from(publicKey, "base64url");
  if (isStrictPoint(encoding) && isOnCurve(encoding)) {
    try {
      key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    } catch {
      key = null;
    }
  }
  if (keys.size >= keyCacheMax) keys.delete(keys.keys().next().value as string);
  keys.set(publicKey, key);
  return key;
};

/** Whether a signing key may stand in a card: canonical, on the curve, not of small order. */
export const isStrictKey = (publicKey: SigningKey): boolean => keyObjectOf(publicKey) !== null;

export const verifier: Verifier = verifierOf((publicKey, artifact, jcs, signature) => {
  const key = keyObjectOf(publicKey);
  return key !== null && verifyWith(key, preimageOfText(artifact, jcs), Ed25519Signature.toBytes(signature));
});

/** The same verdict as `verifier.verifyText`, computed on the thread pool: for callers with other work to do meanwhile. */
export const verifyInPool = (
  publicKey: SigningKey,
  artifact: string,
  jcs: string,
  signature: Ed25519Signature,
): Promise<boolean> => {
  const key = keyObjectOf(publicKey);
  const bytes = Ed25519Signature.toBytes(signature);
  if (key === null || !isStrictPoint(bytes.subarray(0, 32)) || !isCanonicalScalar(bytes.subarray(32))) {
    return Promise.resolve(false);
  }
  return new Promise((resolve, reject) => {
    verifyBytes(null, preimageOfText(artifact, jcs), key, bytes, (error, verdict) => {
      if (error === null) resolve(verdict);
      else reject(error);
    });
  });
};

/** A signer over a raw 32-byte Ed25519 seed. The seed is readable through nothing that this returns. */
export const signerFromSeed = (seed: Uint8Array): Signer => {
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
  const publicKey = SigningKey.fromBytes(
    Buffer.from(createPublicKey(key).export({ format: "jwk" }).x as string, "base64url"),
  );
  return signerOf(publicKey, (artifact, jcs) =>
    Ed25519Signature.fromBytes(signBytes(null, preimageOfText(artifact, jcs), key)),
  );
};
