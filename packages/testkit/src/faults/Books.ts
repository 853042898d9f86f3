// What the authors were told: every post with its key and the id that the endpoint answered. Pure memory, outside of
// everything that is killed, so that it can be held against what the endpoints kept.

import type { PostId } from "@social-harness/protocol/identity/Identifier";

export interface Sent {
  readonly author: string;
  /** The idempotency key of the call. */
  readonly key: string;
  readonly text: string;
  readonly postId: PostId;
  /** Posts of one burst were sent at the same time; every later burst began after its answers. */
  readonly burst: number;
}

/** A conversation is its members; this is their name for it here. */
export const conversationOf = (members: ReadonlyArray<string>): string => [...members].sort().join(",");

export interface Books {
  /** An author was answered: from now on the post exists. */
  readonly enter: (members: ReadonlyArray<string>, sent: Sent) => void;
  readonly postsOf: (conversation: string) => ReadonlyArray<Sent>;
  readonly conversations: () => ReadonlyArray<string>;
  readonly count: () => number;
  /** How long an author waited for an answer, its endpoint's absences included. */
  readonly noteWait: (waitedMs: number) => void;
  readonly longestWaitMs: () => number;
  /** How many items an agent must be handed for the posts so far. */
  readonly owedTo: (agent: string) => number;
}

export const create = (): Books => {
  const posts = new Map<string, Array<Sent>>();
  const owed = new Map<string, number>();
  let count = 0;
  let longestWaitMs = 0;
  return {
    enter: (members, sent) => {
      const conversation = conversationOf(members);
      const entered = posts.get(conversation);
      if (entered === undefined) posts.set(conversation, [sent]);
      else entered.push(sent);
      count++;
      for (const member of members) if (member !== sent.author) owed.set(member, (owed.get(member) ?? 0) + 1);
    },
    postsOf: (conversation) => posts.get(conversation) ?? [],
    conversations: () => [...posts.keys()],
    count: () => count,
    noteWait: (waitedMs) => {
      longestWaitMs = Math.max(longestWaitMs, waitedMs);
    },
    longestWaitMs: () => Math.round(longestWaitMs),
    owedTo: (agent) => owed.get(agent) ?? 0,
  };
};
