// Signatures in the tagged form that the protocol signs, and raw Ed25519 edge cases crafted so that lenient verifiers
// take them: the strict profile must refuse each, and take the few that only look suspicious.

import { hash } from "node:crypto";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Curve from "./Curve.ts";
import { type Files, json, seeded } from "./Family.ts";
import { person } from "./People.ts";

interface Tagged {
  readonly name: string;
  readonly publicKey: string;
  readonly artifact: string;
  readonly value: Json;
  readonly signature: string;
}

interface Raw {
  readonly name: string;
  readonly publicKey: Buffer;
  readonly message: Buffer;
  readonly signature: Buffer;
  readonly valid: boolean;
}

const alice = person("alice");
const bob = person("bob");
const value = { kind: "example", text: "\u{1f600}", list: [1, true, null] };
const signature = alice.signer.sign("example", value);

const flipped = (text: string, byte: number, bit: number): string => {
  const bytes = Buffer.from(text, "base64url");
  bytes[byte] = (bytes[byte] as number) ^ (1 << bit);
  return bytes.toString("base64url");
};

const taggedAccepted: ReadonlyArray<Tagged & { readonly seed: string }> = [
  { name: "a flat value", publicKey: alice.signer.publicKey, artifact: "example", value, signature },
  {
    name: "an empty object",
    publicKey: alice.signer.publicKey,
    artifact: "example",
    value: {},
    signature: alice.signer.sign("example", {}),
  },
].map((entry) => ({ ...entry, seed: alice.seed.toString("hex") }));

const taggedRefused: ReadonlyArray<Tagged> = [
  { name: "another artifact", artifact: "exampl", value, signature },
  { name: "an artifact that swallows the separator", artifact: "example\0", value, signature },
  { name: "another value", artifact: "example", value: { ...value, list: [1, true] }, signature },
  { name: "an excess member", artifact: "example", value: { ...value, more: null }, signature },
  { name: "another signer's key", publicKey: bob.signer.publicKey, artifact: "example", value, signature },
  {
    name: "another signer's signature",
    artifact: "example",
    value,
    signature: bob.signer.sign("example", value),
  },
  {
    name: "a changed bit in the key",
    publicKey: flipped(alice.signer.publicKey, 7, 0),
    artifact: "example",
    value,
    signature,
  },
  ...[0, 17, 31, 32, 50, 63].map((byte) => ({
    name: `a changed bit in byte ${byte} of the signature`,
    artifact: "example",
    value,
    signature: flipped(signature, byte, 2),
  })),
].map((entry) => ({ publicKey: alice.signer.publicKey, ...entry }));

/** The secret scalar of RFC 8032 and an honest signature's parts, opened up so that each can be bent. */
const scalar = ((): bigint => {
  const bytes = Buffer.from(hash("sha512", alice.seed, "buffer").subarray(0, 32));
  bytes[0] = (bytes[0] as number) & 0xf8;
  bytes[31] = ((bytes[31] as number) & 0x7f) | 0x40;
  return Curve.scalarOf(bytes) % Curve.order;
})();
const nonce = Curve.scalarOf(seeded("nonce")) % Curve.order;
const key = Curve.encode(Curve.multiply(scalar, Curve.base));
const pointOfKey = Curve.decode(key);
const commitment = Curve.multiply(nonce, Curve.base);

const signWith = (publicKey: Buffer, r: Buffer, message: Buffer, nonceScalar = nonce): Buffer => {
  const s = (nonceScalar + Curve.challenge(r, publicKey, message) * scalar) % Curve.order;
  return Buffer.concat([r, Curve.scalarBytes(s)]);
};

/** A message whose challenge leaves the given remainder modulo 8, which decides whether a torsion part cancels. */
const messageWhere = (publicKey: Buffer, r: Buffer, wanted: (remainder: bigint) => boolean): Buffer => {
  for (let i = 0; ; i++) {
    const message = Buffer.from(`message ${i}`, "utf8");
    if (wanted(Curve.challenge(r, publicKey, message) % 8n)) return message;
  }
};

const withTopBit = (encoding: Buffer): Buffer => {
  const bytes = Buffer.from(encoding);
  bytes[31] = (bytes[31] as number) | 0x80;
  return bytes;
};

const mixedOrder = (): ReadonlyArray<Raw> => {
  const r = Curve.encode(commitment);
  const mixedKey = Curve.encode(Curve.add(pointOfKey, Curve.torsion));
  const cancels = messageWhere(mixedKey, r, (remainder) => remainder === 0n);
  const remains = messageWhere(mixedKey, r, (remainder) => remainder === 1n);
  const mixedR = Curve.encode(Curve.add(commitment, Curve.torsion));
  const message = Buffer.from("mixed", "utf8");
  return [
    {
      name: "a key of mixed order where the equation holds without the cofactor",
      publicKey: mixedKey,
      message: cancels,
      signature: signWith(mixedKey, r, cancels),
      valid: true,
    },
    {
      name: "a key of mixed order where the equation holds only with the cofactor",
      publicKey: mixedKey,
      message: remains,
      signature: signWith(mixedKey, r, remains),
      valid: false,
    },
    {
      name: "an R of mixed order, which holds only with the cofactor",
      publicKey: key,
      message,
      signature: signWith(key, mixedR, message),
      valid: false,
    },
  ];
};

const smallOrder = (): ReadonlyArray<Raw> =>
  Array.from({ length: 8 }, (_, i) => Curve.encode(Curve.multiply(BigInt(i), Curve.torsion))).flatMap(
    (encoding, i) => {
      const message = messageWhere(encoding, encoding, (remainder) => remainder === 7n);
      return [
        {
          name: `small order: key and R are ${i} times the torsion point, S is zero`,
          publicKey: encoding,
          message,
          signature: Buffer.concat([encoding, Buffer.alloc(32)]),
          valid: false,
        },
        {
          name: `small order: R is ${i} times the torsion point under an honest key`,
          publicKey: key,
          message,
          signature: signWith(key, encoding, message, 0n),
          valid: false,
        },
      ];
    },
  );

/** Encodings that decode, in lenient libraries, to points whose canonical encoding is another. */
const nonCanonical = (): ReadonlyArray<Raw> => {
  const message = Buffer.from("non-canonical", "utf8");
  const zero = Buffer.alloc(32);
  const encodings: ReadonlyArray<readonly [string, Buffer]> = [
    ["y = p", Curve.scalarBytes(Curve.p)],
    ["y = p + 1", Curve.scalarBytes(Curve.p + 1n)],
    ["y = p + 3", Curve.scalarBytes(Curve.p + 3n)],
    ["y = 2^255 - 1", Curve.scalarBytes(2n ** 255n - 1n)],
    ["y = 1 with the sign of an x that is zero", withTopBit(Curve.encode(Curve.identity))],
    ["y = -1 with the sign of an x that is zero", withTopBit(Curve.scalarBytes(Curve.p - 1n))],
    ["y = p + 1 with the sign bit", withTopBit(Curve.scalarBytes(Curve.p + 1n))],
  ];
  return encodings.flatMap(([name, encoding]) => [
    {
      name: `non-canonical key: ${name}`,
      publicKey: encoding,
      message,
      signature: Buffer.concat([Curve.encode(commitment), Curve.scalarBytes(nonce)]),
      valid: false,
    },
    {
      name: `non-canonical R: ${name}`,
      publicKey: key,
      message,
      signature: signWith(key, encoding, message, 0n),
      valid: false,
    },
    {
      name: `non-canonical key and R: ${name}`,
      publicKey: encoding,
      message,
      signature: Buffer.concat([encoding, zero]),
      valid: false,
    },
  ]);
};

const scalars = (): ReadonlyArray<Raw> => {
  const message = Buffer.from("scalar", "utf8");
  const honest = signWith(key, Curve.encode(commitment), message);
  const r = honest.subarray(0, 32);
  const s = Curve.scalarOf(honest.subarray(32));
  const withS = (bent: bigint): Buffer => Buffer.concat([r, Curve.scalarBytes(bent)]);
  const chosen = (nonceScalar: bigint): Buffer => Curve.encode(Curve.multiply(nonceScalar, Curve.base));
  return [
    { name: "an honest signature", publicKey: key, message, signature: honest, valid: true },
    {
      name: "an honest signature over nothing",
      publicKey: key,
      message: Buffer.alloc(0),
      signature: signWith(key, r, Buffer.alloc(0)),
      valid: true,
    },
    {
      name: "R is the base point",
      publicKey: key,
      message,
      signature: signWith(key, chosen(1n), message, 1n),
      valid: true,
    },
    {
      name: "S plus the group order",
      publicKey: key,
      message,
      signature: withS(s + Curve.order),
      valid: false,
    },
    {
      name: "S plus twice the group order",
      publicKey: key,
      message,
      signature: withS(s + 2n * Curve.order),
      valid: false,
    },
    {
      name: "S with its top bit set",
      publicKey: key,
      message,
      signature: withS(s + 2n ** 255n),
      valid: false,
    },
    { name: "S is the group order", publicKey: key, message, signature: withS(Curve.order), valid: false },
    { name: "S negated", publicKey: key, message, signature: withS(Curve.order - s), valid: false },
    {
      name: "R negated",
      publicKey: key,
      message,
      signature: Buffer.concat([withTopBitFlipped(r), honest.subarray(32)]),
      valid: false,
    },
    { name: "key negated", publicKey: withTopBitFlipped(key), message, signature: honest, valid: false },
    {
      name: "key is no point of the curve",
      publicKey: Curve.scalarBytes(2n),
      message,
      signature: honest,
      valid: false,
    },
    {
      name: "R is no point of the curve",
      publicKey: key,
      message,
      signature: signWith(key, Curve.scalarBytes(2n), message),
      valid: false,
    },
    {
      name: "a signature one byte short",
      publicKey: key,
      message,
      signature: honest.subarray(0, 63),
      valid: false,
    },
    {
      name: "a signature one byte long",
      publicKey: key,
      message,
      signature: Buffer.concat([honest, Buffer.alloc(1)]),
      valid: false,
    },
    { name: "an empty signature", publicKey: key, message, signature: Buffer.alloc(0), valid: false },
    {
      name: "a key one byte short",
      publicKey: key.subarray(0, 31),
      message,
      signature: honest,
      valid: false,
    },
    {
      name: "a key one byte long",
      publicKey: Buffer.concat([key, Buffer.alloc(1)]),
      message,
      signature: honest,
      valid: false,
    },
  ];
};

const withTopBitFlipped = (encoding: Buffer): Buffer => {
  const bytes = Buffer.from(encoding);
  bytes[31] = (bytes[31] as number) ^ 0x80;
  return bytes;
};

export const files = (): Files =>
  new Map([
    [
      "signatures.json",
      json({
        about:
          "`accepted` and `refused` are signatures over the preimage of the artifact and value, key and signature in base64url. " +
          "`raw` are hex: message, key, signature and the strict profile's verdict.",
        accepted: taggedAccepted,
        refused: taggedRefused,
        raw: [...scalars(), ...mixedOrder(), ...smallOrder(), ...nonCanonical()].map((entry) => ({
          ...entry,
          publicKey: entry.publicKey.toString("hex"),
          message: entry.message.toString("hex"),
          signature: entry.signature.toString("hex"),
        })),
      }),
    ],
  ]);
