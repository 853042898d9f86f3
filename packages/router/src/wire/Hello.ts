// The hello: a caller proves to this Router, and for this connection only, that a card is its own. Implements RTR-25.

import type {
  AgentId,
  Ed25519Signature,
  Opaque32,
  RouterInstanceId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer, Verifier } from "@social-harness/protocol/identity/Signing";

/** The nonce is the Router's and used once, so a signature serves no other connection and no other Router. */
export interface Hello {
  readonly nonce: Opaque32;
  readonly routerInstanceId: RouterInstanceId;
  readonly agentId: AgentId;
}

const helloOf = ({ nonce, routerInstanceId, agentId }: Hello) => ({ nonce, routerInstanceId, agentId });

export const sign = (signer: Signer, hello: Hello): Ed25519Signature =>
  signer.sign("router-hello", helloOf(hello));

export const verify = (
  verifier: Verifier,
  signingKey: SigningKey,
  hello: Hello,
  signature: Ed25519Signature,
): boolean => verifier.verify(signingKey, "router-hello", helloOf(hello), signature);
