// How many items each sender has sent lately, by the times of their classification, so that a check that takes its time, or a
// second look soon after, changes no answer. In memory: it begins anew with the process and with every change of the rules. Implements ING-135.

import type { AgentId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "./Limits.ts";

export interface Arrival {
  readonly sender: AgentId;
  readonly recordHash: RecordHash;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface Bound {
  readonly items: number;
  readonly seconds: number;
}

export interface Rate {
  /** Notes an item; the same one again changes nothing. */
  readonly note: (arrival: Arrival) => void;
  /** Whether more than `items` items of its sender, itself included, came within the `seconds` up to this one. */
  readonly isExceeded: (arrival: Arrival, bound: Bound) => boolean;
}

type Known = ReadonlyArray<Pick<Arrival, "recordHash" | "at">>;

/** One more than any bound: with the last of them it is known that there were too many. */
const keptMax = Limits.rateItemsMax + 1;

/** Remembers what the given bounds can ask for, and nothing where there are none. */
export const create = (bounds: ReadonlyArray<Bound>): Rate => {
  const senders = new Map<AgentId, Known>();
  const windowMs = Math.max(0, ...bounds.map(({ seconds }) => seconds)) * 1_000;
  return {
    note: ({ sender, recordHash, at }) => {
      if (bounds.length === 0) return;
      const known = senders.get(sender) ?? [];
      if (known.some((other) => other.recordHash === recordHash)) return;
      senders.delete(sender);
      const all = [...known, { recordHash, at }].toSorted((a, b) => a.at - b.at);
      const newest = all.at(-1)?.at ?? at;
      // An item may be looked at when others have come after it, so what counts for it is kept for as long again.
      senders.set(sender, all.filter((other) => other.at > newest - 2 * windowMs).slice(-keptMax));
      const [oldest] = senders.keys();
      if (senders.size > Limits.rateSendersMax && oldest !== undefined) senders.delete(oldest);
    },
    isExceeded: ({ sender, at }, { items, seconds }) => {
      const known = senders.get(sender) ?? [];
      const [first] = known;
      // So many have come since that nobody knows any more what came before it: that is a flood by any bound.
      if (first !== undefined && known.length === keptMax && first.at > at) return true;
      return known.filter((other) => other.at <= at && other.at > at - seconds * 1_000).length > items;
    },
  };
};
