// A chain that is verified as it is read, and what the laws ask of the records below.

import type { AnchorHash, RecordHash } from "../identity/Identifier.ts";
import type { HistoryRecord } from "./Evidence.ts";
import { RecordError } from "./RecordError.ts";
import { type Ancestry, type ChainHead, type Trust, verifyNext } from "./VerifyRecord.ts";

export interface VerifiedChain {
  /** The place after the last record that was taken, or null before GENESIS. */
  readonly head: ChainHead | null;
  /** Verifies the next record and moves the head. Throws `RecordError` with the height, and stays where it is. */
  readonly take: (record: HistoryRecord) => ChainHead;
}

/** An ancestry that takes in record after record. */
export interface GrowingAncestry extends Ancestry {
  readonly add: (record: HistoryRecord) => void;
}

const nothing: Ancestry = { postUsed: () => false, find: () => null, hashAt: () => null };

/** What the laws ask of the records in `below` and of those that were added since, which stand above them. */
export const growing = (below: Ancestry = nothing): GrowingAncestry => {
  const places = new Map<RecordHash, { readonly height: number; readonly anchorHash: AnchorHash }>();
  const hashes = new Map<number, RecordHash>();
  const posts = new Set<string>();
  return {
    postUsed: (author, postId) => posts.has(`${author} ${postId}`) || below.postUsed(author, postId),
    find: (recordHash) => places.get(recordHash) ?? below.find(recordHash),
    hashAt: (height) => hashes.get(height) ?? below.hashAt(height),
    add: ({ recordHash, recordCore: { action, anchorHash } }) => {
      places.set(recordHash, { height: action.height, anchorHash });
      hashes.set(action.height, recordHash);
      posts.add(`${action.authorAgentId} ${action.postIntent.postId}`);
    },
  };
};

/** The ancestry that a list of certified records makes. */
export const ancestryOf = (records: Iterable<HistoryRecord>): Ancestry => {
  const ancestry = growing();
  for (const record of records) ancestry.add(record);
  return ancestry;
};

/** A chain that goes on after `head`, above the records in `below`; from GENESIS on unless told otherwise. */
export const begin = (
  trust: Trust,
  head: ChainHead | null = null,
  below: Ancestry = nothing,
): VerifiedChain => {
  const ancestry = growing(below);
  let last = head;
  return {
    get head() {
      return last;
    },
    take: (record) => {
      const { height } = record.recordCore.action;
      try {
        last = verifyNext(trust, last, record, ancestry);
      } catch (error) {
        throw error instanceof RecordError ? new RecordError(error.reason, error.message, height) : error;
      }
      ancestry.add(record);
      return last;
    },
  };
};
