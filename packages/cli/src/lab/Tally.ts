// The books of a run: what was sent, what each agent was handed and in what order, and whether that is every post once,
// byte for byte, in the order of its conversation's record. Pure; knows no process and no network. Implements RUN-05.

import type { Item } from "@social-harness/protocol/delivery/Item";
import type { DeliveryToken, PostId } from "@social-harness/protocol/identity/Identifier";

export interface Sent {
  readonly from: string;
  readonly recipients: ReadonlyArray<string>;
  readonly text: string;
  readonly postId: PostId;
}

export interface Received {
  readonly agent: string;
  readonly deliveryToken: DeliveryToken;
  readonly item: Item;
}

/** The verified record of one conversation as one agent holds it: its posts in chain order. */
export interface Held {
  readonly agent: string;
  readonly members: ReadonlyArray<string>;
  readonly recordHashes: ReadonlyArray<string>;
  readonly posts: ReadonlyArray<{ readonly from: string; readonly postId: PostId; readonly text: string }>;
}

export interface Verdict {
  readonly itemsExpected: number;
  readonly itemsDelivered: number;
  readonly duplicates: number;
  readonly missing: number;
  readonly outOfOrder: number;
  /** Sentences about everything else that is wrong: other text, items nobody sent, records that differ. */
  readonly faults: ReadonlyArray<string>;
}

const keyOf = (from: string, postId: PostId): string => `${from} ${postId}`;
/** Whether every post reached every recipient once and in order, and nothing else happened. */
export const isGood = ({ duplicates, missing, outOfOrder, faults }: Verdict): boolean =>
  duplicates + missing + outOfOrder + faults.length === 0;

/** What is wrong, in one line. */
export const faultLine = ({ duplicates, missing, outOfOrder, faults }: Verdict): string =>
  [`${missing} missing, ${duplicates} doubled, ${outOfOrder} out of order`, ...faults].join("; ");

const membersKey = (names: ReadonlyArray<string>): string => [...names].sort().join(",");

interface Handed {
  readonly key: string;
  readonly sender: string;
  readonly address: string;
  readonly members: string;
  readonly text: string;
}

const nameOf = (address: string): string => address.slice(address.indexOf(":") + 1);

const handedOf = ({ agent, item }: Received): Handed | null => {
  if (item.kind !== "multicast") return null;
  const { message } = item;
  const from = nameOf(message.sender);
  const members = message.kind === "group" ? message.members.map(nameOf) : [agent, from];
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const { sender, address, postId } = message;
  return { key: keyOf(from, postId), sender, address, members: membersKey(members), text };
};

export class Tally {
  readonly #sent = new Map<string, Sent>();
  /** By agent, in the order of arrival, the first arrival of each post only. */
  readonly #handed = new Map<string, Map<string, Handed>>();
  readonly #tokens = new Map<string, string>();
  readonly #acknowledged = new Set<string>();
  readonly #faults: Array<string> = [];
  #duplicates = 0;

  sent(post: Sent): void {
    this.#sent.set(keyOf(post.from, post.postId), post);
  }

  get postsSent(): number {
    return this.#sent.size;
  }

  /** To be called when the agent's endpoint has answered the acknowledgment, not before. */
  acknowledged(agent: string, deliveryToken: DeliveryToken): void {
    this.#acknowledged.add(`${agent} ${deliveryToken}`);
  }

  /** An item read again under the token it had before is no second delivery; after its acknowledgment it is. */
  received(received: Received): void {
    const handed = handedOf(received);
    const { agent } = received;
    const token = `${agent} ${received.deliveryToken}`;
    if (handed === null) {
      this.#faults.push(`${agent} was told that an operation of its own failed`);
      return;
    }
    const known = this.#tokens.get(token);
    this.#tokens.set(token, handed.key);
    if (known !== undefined && known !== handed.key) this.#faults.push(`${agent} saw one token on two items`);
    if (known !== undefined && !this.#acknowledged.has(token)) return;
    const inbox = this.#handed.get(agent) ?? new Map<string, Handed>();
    this.#handed.set(agent, inbox);
    if (inbox.has(handed.key)) this.#duplicates += 1;
    else inbox.set(handed.key, handed);
  }

  has(agent: string, from: string, postId: PostId): boolean {
    return this.#handed.get(agent)?.has(keyOf(from, postId)) ?? false;
  }

  /** How many posts an agent should have been handed and was not, so far. */
  missingAt(agent: string): number {
    const handed = this.#handed.get(agent);
    return [...this.#sent].filter(([key, post]) => post.recipients.includes(agent) && !handed?.has(key))
      .length;
  }

  /** What an agent was handed, in the order of arrival. */
  receivedBy(
    agent: string,
  ): ReadonlyArray<{ readonly from: string; readonly to: string; readonly text: string }> {
    return [...(this.#handed.get(agent)?.values() ?? [])].map(({ sender, address, text }) => ({
      from: sender,
      to: address,
      text,
    }));
  }

  verdict(held: ReadonlyArray<Held>): Verdict {
    const faults = [...this.#faults, ...differences(held)];
    let itemsExpected = 0;
    let itemsDelivered = 0;
    let missing = 0;
    for (const [key, post] of this.#sent) {
      for (const recipient of post.recipients) {
        itemsExpected += 1;
        const handed = this.#handed.get(recipient)?.get(key);
        if (handed === undefined) missing += 1;
        else {
          itemsDelivered += 1;
          if (handed.text !== post.text)
            faults.push(`${recipient} read another text than ${post.from} wrote`);
          if (handed.members !== membersKey([post.from, ...post.recipients])) {
            faults.push(`${recipient} read a post of ${post.from} under another membership`);
          }
        }
      }
    }
    for (const [agent, inbox] of this.#handed) {
      for (const key of inbox.keys()) {
        if (!this.#sent.get(key)?.recipients.includes(agent))
          faults.push(`${agent} was handed a post that nobody sent to it`);
      }
    }
    return {
      itemsExpected,
      itemsDelivered,
      duplicates: this.#duplicates,
      missing,
      outOfOrder: this.#outOfOrder(held),
      faults,
    };
  }

  /** Arrivals that stand before one which their conversation's record puts earlier. */
  #outOfOrder(held: ReadonlyArray<Held>): number {
    let count = 0;
    for (const { agent, members, posts } of held) {
      const place = new Map(posts.map(({ from, postId }, at) => [keyOf(from, postId), at]));
      let last = -1;
      for (const handed of this.#handed.get(agent)?.values() ?? []) {
        if (handed.members !== membersKey(members)) continue;
        const at = place.get(handed.key) ?? -1;
        if (at < last) count += 1;
        last = Math.max(last, at);
      }
    }
    return count;
  }
}

/** Members of one conversation hold the same chain, record by record. */
const differences = (held: ReadonlyArray<Held>): ReadonlyArray<string> => {
  const chains = new Map<string, Held>();
  const faults: Array<string> = [];
  for (const one of held) {
    const key = membersKey(one.members);
    const first = chains.get(key);
    if (first === undefined) chains.set(key, one);
    else if (first.recordHashes.join() !== one.recordHashes.join()) {
      faults.push(`${first.agent} and ${one.agent} hold different records of ${key}`);
    }
  }
  return faults;
};
