// One agent writing into one conversation: a post or a burst of them at a time, each under its own idempotency key, called
// again under that key whenever its endpoint went away, and now and then although it was answered or is being answered.
// Enters into the books what it was told.

import { setTimeout as sleep } from "node:timers/promises";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import type { Random } from "../simulation/Random.ts";
import type { Books } from "./Books.ts";
import { Away, type EndpointClient, Refused } from "./Client.ts";
import type { Faults } from "./Fault.ts";

export interface AuthorOptions {
  readonly name: string;
  readonly members: ReadonlyArray<string>;
  readonly client: EndpointClient;
  readonly random: Random;
  readonly books: Books;
  readonly faults: Faults;
  /** Whether another post shall be begun. */
  readonly goesOn: () => boolean;
}

const pauseMsMax = 1_200;
const retryMs = 20;
/** Now and then several posts at once, whose order is the endpoint's to choose. */
const burstChance = 0.15;
const burstMax = 6;
/** Most posts are short; a few are large enough to be cut in two by a kill, in a socket or on a disk. */
const sizes: ReadonlyArray<readonly [probability: number, characters: number]> = [
  [0.01, 50_000],
  [0.05, 5_000],
  [1, 200],
];

const fillerOf = (random: Random): string => {
  const draw = random.next();
  const [, charactersMax] = sizes.find(([probability]) => draw < probability) ?? [1, 200];
  return random.pick(["x", "é", "🌊", "\u202e\n"]).repeat(1 + random.below(charactersMax));
};

const addressOf = (members: ReadonlyArray<string>, self: string): string => {
  const others = members.filter((name) => name !== self);
  return others.length === 1 ? `agent:${others[0]}` : `group:${others.join(",")}`;
};

/** Writes until `goesOn` says no; resolves when its last post has been answered. */
export const write = async (options: AuthorOptions): Promise<void> => {
  const { name, members, client, random, books, faults } = options;
  const to = addressOf(members, name);

  /** Calls until somebody answers; null when the run has failed meanwhile. */
  const send = async (text: string, idempotencyKey: string): Promise<PostId | null> => {
    const begun = performance.now();
    for (;;) {
      try {
        const { postId } = await client.call("send_message", { input: { to, text }, idempotencyKey });
        books.noteWait(performance.now() - begun);
        return postId;
      } catch (error) {
        // A first contact needs the Registry, which may be down at this moment; nothing was persisted then.
        const again =
          error instanceof Away || (error instanceof Refused && error.reason === "dependency-unavailable");
        if (!again) {
          faults.add(`${name} could not send to ${to}: ${String(error)}`);
        }
        if (faults.sentences.length > 0) return null;
        await sleep(retryMs);
      }
    }
  };

  /** One post under its own key; the same call comes again for some, at the same time or after the answer. */
  const post = async (key: string, text: string, again: number, burst: number): Promise<void> => {
    const first = send(text, key);
    const together = again < 0.05 ? send(text, key) : null;
    const postId = await first;
    if (postId === null) return;
    books.enter(members, { author: name, key, text, postId, burst });
    const repeated = await (again > 0.95 ? send(text, key) : together);
    if (repeated !== null && repeated !== postId)
      faults.add(`${name} was given two posts under one key: ${key}`);
  };

  for (let burst = 0; options.goesOn(); burst++) {
    const count = random.chance(burstChance) ? 2 + random.below(burstMax - 1) : 1;
    // Everything is drawn before the first call, so that no answer's time changes what is drawn.
    const posts = Array.from({ length: count }, (_, index) => {
      const key = `${name} ${members.join(" ")} ${burst}.${index}`;
      return post(key, `${key} ${fillerOf(random)}`, random.next(), burst);
    });
    await Promise.all(posts);
    await sleep(random.below(pauseMsMax) * count);
  }
};
