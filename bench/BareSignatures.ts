// The signatures of certified records, stripped of everything but what the signature library needs: what verifying records
// is held against.

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { promisify } from "node:util";
import { preimageOfText } from "@social-harness/protocol/encoding/Hash";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import { Ed25519Signature, type SigningKey } from "@social-harness/protocol/identity/Identifier";
import { verifierOf } from "@social-harness/protocol/identity/Signing";

export interface Bare {
  readonly key: KeyObject;
  readonly message: Buffer;
  readonly signature: Buffer;
}

const verifyOnPool = promisify(verify);

/** Every signature that verifying the records checks, ready for the library: keys parsed, bytes laid out. */
export const of = (records: ReadonlyArray<HistoryRecord>, { registryKey }: Trust): ReadonlyArray<Bare> => {
  const keys = new Map<SigningKey, KeyObject>();
  const keyOf = (x: SigningKey): KeyObject => {
    const known = keys.get(x) ?? createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    keys.set(x, known);
    return known;
  };
  const all: Array<Bare> = [];
  const chain = VerifiedChain.begin({
    registryKey,
    verifier: verifierOf((key, artifact, jcs, signature) => {
      all.push({
        key: keyOf(key),
        message: preimageOfText(artifact, jcs),
        signature: Ed25519Signature.toBytes(signature),
      });
      return true;
    }),
  });
  for (const record of records) chain.take(record);
  return all;
};

export const verifyInline = (all: ReadonlyArray<Bare>): void => {
  for (const { key, message, signature } of all) {
    if (!verify(null, message, key, signature)) throw new Error("a signature does not verify");
  }
};

export const verifyInPool = async (all: ReadonlyArray<Bare>): Promise<void> => {
  const verdicts = await Promise.all(
    all.map(({ key, message, signature }) => verifyOnPool(null, message, key, signature)),
  );
  if (!verdicts.every(Boolean)) throw new Error("a signature does not verify");
};
