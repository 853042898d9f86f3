// How many items each sender has sent lately, by the times of their classification, so that a check that takes its time, or a
// second look soon after, changes no answer. A clock that was set back leaves times that have not come yet: they are forgotten, and
// counting goes on. In memory: it begins anew with the process and with every change of the rules. Implements ING-135 and ING-247.

import type { AgentId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "./Limits.ts";

export interface Arrival {
  readonly sender: AgentId;
  readonly recordHash: RecordHash;
  /** Grows with each arrival, whatever the clock says. */
  readonly order: number;
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

type Noted = Omit<Arrival, "sender">;

interface Known {
  /** By their times. */
  readonly arrivals: ReadonlyArray<Noted>;
  /** The latest of those that were forgotten because they were too many. */
  readonly lost: Noted | null;
}

/** One more than any bound: with the last of them it is known that there were too many. */
const keptMax = Limits.rateItemsMax + 1;

/** Whether an arrival has a later time than one that came after it. */
const isAhead = (one: Noted, other: Noted): boolean => one.order < other.order && one.at > other.at;

/** With one more; what is ahead of it is forgotten, and it is not kept itself when it is ahead of another one. */
const withOne = ({ arrivals, lost }: Known, one: Noted, windowMs: number): Known => {
  if (arrivals.some((other) => isAhead(one, other))) return { arrivals, lost };
  const all = [...arrivals.filter((other) => !isAhead(other, one)), one].toSorted((a, b) => a.at - b.at);
  const newest = all.at(-1)?.at ?? one.at;
  // An item may be looked at when others have come after it, so what counts for it is kept for as long again.
  const recent = all.filter((other) => other.at > newest - 2 * windowMs);
  const dropped = recent.at(-keptMax - 1) ?? lost;
  return {
    arrivals: recent.slice(-keptMax),
    lost: dropped !== null && isAhead(dropped, one) ? null : dropped,
  };
};

/** Remembers what the given bounds can ask for, and nothing where there are none. */
export const create = (bounds: ReadonlyArray<Bound>): Rate => {
  const senders = new Map<AgentId, Known>();
  const windowMs = Math.max(0, ...bounds.map(({ seconds }) => seconds)) * 1_000;
  const knownOf = (sender: AgentId): Known => senders.get(sender) ?? { arrivals: [], lost: null };
  return {
    note: ({ sender, ...one }) => {
      if (bounds.length === 0) return;
      const known = knownOf(sender);
      if (known.arrivals.some(({ recordHash }) => recordHash === one.recordHash)) return;
      senders.delete(sender);
      senders.set(sender, withOne(known, one, windowMs));
      const [oldest] = senders.keys();
      if (senders.size > Limits.rateSendersMax && oldest !== undefined) senders.delete(oldest);
    },
    isExceeded: ({ sender, recordHash, at }, { items, seconds }) => {
      const { arrivals, lost } = knownOf(sender);
      const since = at - seconds * 1_000;
      // So many have come that nobody knows any more how many of them count here: that is a flood by any bound.
      if (lost !== null && lost.at > since) return true;
      const others = arrivals.filter(
        (other) => other.recordHash !== recordHash && other.at <= at && other.at > since,
      );
      return others.length + 1 > items;
    },
  };
};
