// A request to be registered: the keys that an agent binds to its name, with proof that it holds the signing key. The
// proof names one Registry by its key, so it is worth nothing at another. Implements IDN-23.

import * as Schema from "effect/Schema";
import { hash } from "@social-harness/protocol/encoding/Hash";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import {
  Ed25519Signature,
  Opaque32,
  OperationId,
  PrincipalId,
  SealingKey,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer, Verifier } from "@social-harness/protocol/identity/Signing";
import * as X25519 from "@social-harness/protocol/identity/X25519";

const contributory = Schema.makeFilter(
  (key: SealingKey) => X25519.isContributory(key) || "expected a sealing key that is not of small order",
);

export const schema = Schema.Struct({
  kind: Schema.Literal("registration"),
  operationId: OperationId.schema,
  principalId: PrincipalId.schema,
  agentName: AgentName.schema,
  signingKey: SigningKey.schema,
  sealingKey: SealingKey.schema.check(contributory),
  registryKey: SigningKey.schema,
  keySignature: Ed25519Signature.schema,
  signature: Ed25519Signature.schema,
});
export type Registration = typeof schema.Type;

/** What an agent decides about its registration; the keys and the signatures come from its signer. */
export interface Wish {
  readonly operationId: OperationId;
  readonly principalId: PrincipalId;
  readonly agentName: AgentName.AgentName;
  readonly sealingKey: SealingKey;
  readonly registryKey: SigningKey;
}

/** The signed request. The same wish under the same key is the same request, byte for byte. */
export const sign = (signer: Signer, wish: Wish): Registration => {
  const keys: AgentCard.AgentKeys = {
    agentName: wish.agentName,
    principalId: wish.principalId,
    signingKey: signer.publicKey,
    sealingKey: wish.sealingKey,
    registryKey: wish.registryKey,
  };
  const unsigned = {
    kind: "registration" as const,
    operationId: wish.operationId,
    ...keys,
    keySignature: AgentCard.signKeys(signer, keys),
  };
  return { ...unsigned, signature: signer.sign("registration", unsigned) };
};

/** Whether the holder of the signing key asked for exactly this, at the Registry of `registryKey`. */
export const verify = (verifier: Verifier, registryKey: SigningKey, registration: Registration): boolean => {
  const { signature, ...unsigned } = registration;
  return (
    registration.registryKey === registryKey &&
    Ed25519.isStrictKey(registration.signingKey) &&
    verifier.verify(registration.signingKey, "registration", unsigned, signature) &&
    AgentCard.verifyKeys(verifier, registration, registration.keySignature)
  );
};

/** Two requests are the same request when this is equal: everything but the proof itself. */
export const hashOf = ({ signature: _, ...unsigned }: Registration): Opaque32 =>
  Opaque32.fromBytes(hash("registration-request", unsigned));
