// The Router's side of the hello: judges whether a caller is the agent of a card that the pinned Registry issued. The
// card verifies by itself, so no Registry is asked. Implements RTR-25.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import type * as Frames from "../wire/Frames.ts";
import * as Hello from "../wire/Hello.ts";

/** An admitted caller. The digest is what its envelopes must name. */
export interface Caller {
  readonly card: AgentCard.AgentCard;
  readonly cardDigest: ReturnType<typeof AgentCard.digestOf>;
}

const decodeCard = (encoded: AgentCard.EncodedAgentCard): AgentCard.AgentCard | null => {
  try {
    return AgentCard.decode(encoded);
  } catch {
    return null;
  }
};

/** The caller, or why it is refused. Checks what costs least first. */
export const judge = (
  registryKey: SigningKey,
  challenge: Frames.Challenge,
  { agentCard, nonce, signature }: Frames.Authenticate,
): Caller | "bad-nonce" | "bad-card" | "bad-signature" => {
  if (nonce !== challenge.nonce) return "bad-nonce";
  const card = decodeCard(agentCard);
  if (card === null || !AgentCard.verify(Ed25519.verifier, registryKey, card)) return "bad-card";
  const hello = { nonce, routerInstanceId: challenge.routerInstanceId, agentId: card.agentId };
  return Hello.verify(Ed25519.verifier, card.signingKey, hello, signature)
    ? { card, cardDigest: AgentCard.digestOf(card) }
    : "bad-signature";
};
