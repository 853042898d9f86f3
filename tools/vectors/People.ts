// The cast of the vectors: agents and Registries whose every key is made from a label.

import { createPrivateKey, createPublicKey } from "node:crypto";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { PrincipalId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import { seeded } from "./Family.ts";

export interface Person {
  readonly seed: Buffer;
  readonly signer: Signer;
  readonly keys: AgentCard.AgentKeys;
  readonly card: AgentCard.AgentCard;
}

export const registry: Signer = Ed25519.signerFromSeed(seeded("registry signing key"));
export const otherRegistry: Signer = Ed25519.signerFromSeed(seeded("another registry's signing key"));
export const issuedAt = "2026-11-30T12:00:00Z" as AgentCard.Timestamp;

const sealingKeyOf = (label: string): SealingKey => {
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b656e04220420", "hex"), seeded(label)]);
  const key = createPublicKey(createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }));
  return SealingKey.fromBytes(Buffer.from(key.export({ format: "jwk" }).x as string, "base64url"));
};

/** The agent of a name under one Registry: the same name always has the same keys. */
export const person = (name: string, under: Signer = registry): Person => {
  const seed = seeded(`${name} signing key`);
  const signer = Ed25519.signerFromSeed(seed);
  const keys: AgentCard.AgentKeys = {
    agentName: name as AgentName,
    principalId: PrincipalId.fromBytes(seeded(`${name} principal`, 16)),
    signingKey: signer.publicKey,
    sealingKey: sealingKeyOf(`${name} sealing key`),
    registryKey: under.publicKey,
  };
  return {
    seed,
    signer,
    keys,
    card: AgentCard.issue(under, keys, AgentCard.signKeys(signer, keys), issuedAt),
  };
};
