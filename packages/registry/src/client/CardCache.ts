// Verified cards that a client has met, the least recently used dropped first. Cards are immutable, so a card is good for
// ever; that a name or id was not found is never kept. Implements IDN-54.

import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";

export interface CardCache {
  readonly byName: (name: AgentName) => AgentCard.AgentCard | undefined;
  readonly byId: (agentId: AgentId) => AgentCard.AgentCard | undefined;
  /** False, and nothing kept, when a kept card already gives this name or this id to somebody else. */
  readonly add: (card: AgentCard.AgentCard) => boolean;
}

export const makeCardCache = (cardsMax: number): CardCache => {
  /** In order of use, oldest first. */
  const cards = new Map<AgentName, AgentCard.AgentCard>();
  const names = new Map<AgentId, AgentName>();

  const use = (card: AgentCard.AgentCard | undefined): AgentCard.AgentCard | undefined => {
    if (card !== undefined) {
      cards.delete(card.agentName);
      cards.set(card.agentName, card);
    }
    return card;
  };
  const byId = (agentId: AgentId): AgentCard.AgentCard | undefined => {
    const name = names.get(agentId);
    return name === undefined ? undefined : use(cards.get(name));
  };

  return {
    byName: (name) => use(cards.get(name)),
    byId,
    add: (card) => {
      const known = cards.get(card.agentName) ?? byId(card.agentId);
      if (known !== undefined) return AgentCard.digestOf(known) === AgentCard.digestOf(card);
      if (cards.size >= cardsMax) {
        const [oldest] = cards.values();
        if (oldest !== undefined) {
          cards.delete(oldest.agentName);
          names.delete(oldest.agentId);
        }
      }
      cards.set(card.agentName, card);
      names.set(card.agentId, card.agentName);
      return true;
    },
  };
};
