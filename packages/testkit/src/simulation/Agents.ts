// Agents of a simulated network: cards under one Registry key, from one seed. The keyed-hash signer stands in for Ed25519
// where a run is about order and not about curves; real keys are one argument away.

import { createHmac, hash } from "node:crypto";
import { preimageOfText } from "@social-harness/protocol/encoding/Hash";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { Ed25519Signature, PrincipalId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import { type Signer, signerOf, type Verifier, verifierOf } from "@social-harness/protocol/identity/Signing";
import * as SealingKeys from "@social-harness/router/seal/SealingKeys";

export interface Agent {
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  /** What sealed envelopes are opened with. Null among simulated keys, where nothing is sealed. */
  readonly sealing: SealingKeys.SealingSecret | null;
}

/** 64 bytes like a signature. One hash over key and bytes is enough: whoever could forge it would have to want to. */
const macOf = (publicKey: string, bytes: Buffer): Buffer =>
  hash("sha512", Buffer.concat([Buffer.from(`simulated ${publicKey}`), bytes]), "buffer");

/** Signs with a hash keyed by the public key: nothing secret, but nobody in a simulation forges it by accident. */
export const simulatedSigner = ({ publicKey }: Signer): Signer =>
  signerOf(publicKey, (artifact, jcs) =>
    Ed25519Signature.fromBytes(macOf(publicKey, preimageOfText(artifact, jcs))),
  );

export const simulatedVerifier: Verifier = verifierOf(
  (publicKey, artifact, jcs, signature) =>
    Ed25519Signature.fromBytes(macOf(publicKey, preimageOfText(artifact, jcs))) === signature,
);

/** `count` agents named agent-000, agent-001, ... whose keys come from `seed`. */
export const createAgents = (
  count: number,
  seed: string,
  real: boolean,
): { readonly agents: ReadonlyArray<Agent>; readonly registry: Signer; readonly verifier: Verifier } => {
  const verifier = real ? Ed25519.verifier : simulatedVerifier;
  const named = (name: string): Signer => {
    const signer = Ed25519.signerFromSeed(createHmac("sha256", seed).update(name).digest());
    return real ? signer : simulatedSigner(signer);
  };
  const registry = named("registry");
  const agents = Array.from({ length: count }, (_, i): Agent => {
    const agentName = `agent-${String(i).padStart(3, "0")}` as AgentName;
    const signer = named(agentName);
    const sealingSeed = createHmac("sha256", seed).update(`sealing ${agentName}`).digest();
    const sealing = real ? SealingKeys.fromSeed(sealingSeed) : null;
    const keys: AgentCard.AgentKeys = {
      agentName,
      principalId: PrincipalId.fromBytes(Buffer.alloc(16, i)),
      signingKey: signer.publicKey,
      sealingKey: sealing?.publicKey ?? SealingKey.fromBytes(sealingSeed),
      registryKey: registry.publicKey,
    };
    const issuedAt = "2026-01-01T00:00:00Z" as AgentCard.Timestamp;
    return {
      card: AgentCard.issue(registry, keys, AgentCard.signKeys(signer, keys), issuedAt),
      signer,
      sealing,
    };
  });
  return { agents, registry, verifier };
};
