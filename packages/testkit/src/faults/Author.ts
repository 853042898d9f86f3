// One agent writing into one conversation: a post at a time, each under its own idempotency key, called again under that
// key whenever its endpoint went away, and now and then although it was answered. Enters into the books what it was told.

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
    for (;;) {
      try {
        const { postId } = await client.call("send_message", { input: { to, text }, idempotencyKey });
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

  for (let number = 0; options.goesOn(); number++) {
    const key = `${name} ${members.join(" ")} ${number}`;
    const text = `${key} ${fillerOf(random)}`;
    const postId = await send(text, key);
    if (postId === null) return;
    books.enter(members, { author: name, key, text, postId });
    if (random.chance(0.1)) {
      const again = await send(text, key);
      if (again !== null && again !== postId) faults.add(`${name} was given two posts under one key: ${key}`);
    }
    await sleep(random.below(pauseMsMax));
  }
};
