// One agent's host: reads pages of the inbox, acknowledges when it pleases and in any order, and is itself restarted with
// nothing but its journal. Reports a token that comes again after its acknowledgment or with another payload, a post under
// a second token, and whatever nobody sent.

import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../simulation/Random.ts";
import { Away, type EndpointClient } from "./Client.ts";
import type { Faults } from "./Fault.ts";
import * as Journal from "./Journal.ts";

export interface ConsumerOptions {
  readonly name: string;
  readonly client: EndpointClient;
  readonly random: Random;
  readonly faults: Faults;
  readonly journalFile: string;
  /** Whether there may be more to come, once so many posts have been seen and the inbox was or was not found empty. */
  readonly goesOn: (seen: number, isEmpty: boolean) => boolean;
}

const pauseMsMax = 120;
const thinkMsMax = 30;
const restartChance = 0.02;
const acknowledgeChance = 0.7;

/** Consumes, over many lives of its own, until `goesOn` says no. */
export const consume = async (options: ConsumerOptions): Promise<void> => {
  while ((await live(options)) === "restart");
};

export interface Delivery {
  readonly deliveryToken: Journal.Entry["token"];
  readonly item: Parameters<typeof Journal.entryOf>[2];
}

export interface Watch {
  /** Holds what a host was handed against its journal, and writes down what is new. */
  readonly look: (delivery: Delivery) => void;
  /** How many posts it has been handed. */
  readonly count: () => number;
}

export const watch = (name: string, journal: Journal.Journal, faults: Faults): Watch => {
  const tokens = new Map(journal.entries().map((entry) => [keyOf(entry), entry.token]));
  return {
    look: ({ deliveryToken, item }) => {
      const entry = Journal.entryOf(name, deliveryToken, item);
      if (entry === null)
        return faults.add(`${name} was told that an operation failed: ${JSON.stringify(item)}`);
      const known = journal.entryOf(entry.token);
      if (journal.isDone(entry.token))
        faults.add(`${name} was handed ${entry.token} again after its acknowledgment`);
      if (known !== undefined && known.digest !== entry.digest)
        faults.add(`${name} was handed two payloads under ${entry.token}`);
      if (known !== undefined) return;
      if (tokens.has(keyOf(entry)))
        faults.add(`${name} was handed post ${entry.postId} under a second token`);
      tokens.set(keyOf(entry), entry.token);
      journal.write({ kind: "seen", ...entry });
    },
    count: () => tokens.size,
  };
};

const live = async (options: ConsumerOptions): Promise<"restart" | "done"> => {
  const { name, client, random, faults } = options;
  const journal = Journal.open(options.journalFile);
  const { look, count } = watch(name, journal, faults);
  let isEmpty = false;

  /** Resolves with false when this life ended in the middle. */
  const turn = async (): Promise<boolean> => {
    let cursor: string | undefined;
    do {
      const { items, nextCursor } = await client.call("read_inbox", cursor === undefined ? {} : { cursor });
      if (cursor === undefined) isEmpty = items.length === 0;
      items.forEach(look);
      for (const { deliveryToken } of items) {
        if (!random.chance(acknowledgeChance)) continue;
        if (random.chance(0.2)) await sleep(random.below(thinkMsMax));
        journal.write({ kind: "asked", token: deliveryToken });
        await client.call("acknowledge_delivery", { deliveryToken });
        // Here a consumer may fall that has been answered and has not written it down.
        if (random.chance(restartChance)) return false;
        journal.write({ kind: "done", token: deliveryToken });
      }
      cursor = nextCursor;
    } while (cursor !== undefined);
    return !random.chance(restartChance);
  };

  while (options.goesOn(count(), isEmpty)) {
    try {
      if (!(await turn())) return "restart";
    } catch (error) {
      if (!(error instanceof Away)) {
        faults.add(`${name} could not read its inbox: ${String(error)}`);
        return "done";
      }
    }
    await sleep(random.below(pauseMsMax));
  }
  return "done";
};

const keyOf = ({ conversation, author, postId }: Journal.Entry): string =>
  `${conversation} ${author} ${postId}`;
