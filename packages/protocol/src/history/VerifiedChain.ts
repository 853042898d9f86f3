// A chain that is verified as it is read, from GENESIS on, and what the laws ask of the records below.

import type { AnchorHash, RecordHash } from "../identity/Identifier.ts";
import type { HistoryRecord } from "./Evidence.ts";
import { type Ancestry, type ChainHead, type Trust, verifyNext } from "./VerifyRecord.ts";

export interface VerifiedChain {
  /** The place after the last record that was taken, or null before GENESIS. */
  readonly head: ChainHead | null;
  /** Verifies the next record and moves the head. Throws `RecordError` and stays where it is. */
  readonly take: (record: HistoryRecord) => ChainHead;
}

interface GrowingAncestry extends Ancestry {
  readonly add: (record: HistoryRecord) => void;
}

const empty = (): GrowingAncestry => {
  const places = new Map<RecordHash, { readonly height: number; readonly anchorHash: AnchorHash }>();
  const hashes: Array<RecordHash> = [];
  const posts = new Set<string>();
  return {
    postUsed: (author, postId) => posts.has(`${author} ${postId}`),
    find: (recordHash) => places.get(recordHash) ?? null,
    hashAt: (height) => hashes[height] ?? null,
    add: ({ recordHash, recordCore: { action, anchorHash } }) => {
      places.set(recordHash, { height: action.height, anchorHash });
      hashes[action.height] = recordHash;
      posts.add(`${action.authorAgentId} ${action.postIntent.postId}`);
    },
  };
};

/** The ancestry that a list of certified records makes. */
export const ancestryOf = (records: Iterable<HistoryRecord>): Ancestry => {
  const ancestry = empty();
  for (const record of records) ancestry.add(record);
  return ancestry;
};

export const begin = (trust: Trust): VerifiedChain => {
  const ancestry = empty();
  let head: ChainHead | null = null;
  return {
    get head() {
      return head;
    },
    take: (record) => {
      head = verifyNext(trust, head, record, ancestry);
      ancestry.add(record);
      return head;
    },
  };
};
