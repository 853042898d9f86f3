// What a Registry said, believed only after checking: the closed shape, the card under the one pinned key, and that it
// answers what was asked. A Registry cannot make a client take another agent's card, or skip and shuffle a page unseen.
// Implements IDN-50 to IDN-52.

import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Verifier } from "@social-harness/protocol/identity/Signing";
import * as Limits from "../Limits.ts";
import type { Registration } from "../Registration.ts";
import * as Wire from "../Wire.ts";
import { RegistryError } from "./RegistryError.ts";

/** The trust root: configuration, never anything that an answer says. */
export interface Trust {
  readonly verifier: Verifier;
  readonly registryKey: SigningKey;
}

const cardBounds = { bytesMax: Limits.cardAnswerBytesMax, depthMax: Limits.answerDepthMax };
const pageBounds = { bytesMax: Limits.pageAnswerBytesMax, depthMax: Limits.answerDepthMax };

const distrust = (message: string): never => {
  throw new RegistryError("invalid-answer", `the Registry's answer is not to be believed: ${message}`);
};

const believing =
  <T>(decode: (bytes: Uint8Array) => T) =>
  (bytes: Uint8Array): T => {
    try {
      return decode(bytes);
    } catch (cause) {
      if (cause instanceof DecodeError) return distrust(cause.message);
      throw cause;
    }
  };

const decodeRegister = believing(Closed.bytesDecoder(Wire.RegisterAnswer, cardBounds));
const decodeLookup = believing(Closed.bytesDecoder(Wire.LookupAnswer, cardBounds));
const decodePage = believing(Closed.bytesDecoder(Wire.PageAnswer, pageBounds));

const checkCard = ({ verifier, registryKey }: Trust, card: AgentCard.AgentCard): void => {
  if (!AgentCard.verify(verifier, registryKey, card)) {
    distrust("a card does not verify under the pinned key");
  }
};

/** The answer to a registration; a card must bind exactly the keys and the name of the request. */
export const registered = (trust: Trust, asked: Registration, bytes: Uint8Array): Wire.RegisterAnswer => {
  const answer = decodeRegister(bytes);
  if (answer.kind !== "registered") return answer;
  const card = answer.agentCard;
  checkCard(trust, card);
  const same =
    card.agentName === asked.agentName &&
    card.principalId === asked.principalId &&
    card.signingKey === asked.signingKey &&
    card.sealingKey === asked.sealingKey;
  if (!same) distrust("the card is not the one that was asked for");
  return answer;
};

/** The card that was asked for, or null when the Registry knows none. */
export const found = (
  trust: Trust,
  asked: Wire.LookupRequest,
  bytes: Uint8Array,
): AgentCard.AgentCard | null => {
  const answer = decodeLookup(bytes);
  if (answer.kind === "not_found") return null;
  const card = answer.agentCard;
  checkCard(trust, card);
  const same = "agentId" in asked ? card.agentId === asked.agentId : card.agentName === asked.agentName;
  if (!same) distrust("the card is of another agent");
  return card;
};

/** A page whose names increase, begin after the asked one, and have the asked prefix. */
export const page = (trust: Trust, asked: Wire.ListRequest, bytes: Uint8Array): Wire.PageAnswer => {
  const answer = decodePage(bytes);
  let previous: string = asked.afterAgentName ?? "";
  for (const card of answer.agentCards) {
    if (card.agentName <= previous) distrust("the names of a page do not increase");
    if (!card.agentName.startsWith(asked.prefix ?? "")) distrust("a name does not have the prefix");
    previous = card.agentName;
  }
  if (answer.hasMore && answer.agentCards.length === 0) distrust("an empty page has more");
  for (const card of answer.agentCards) checkCard(trust, card);
  return answer;
};
