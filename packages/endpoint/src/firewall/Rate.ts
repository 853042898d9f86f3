// How many items each sender has sent lately, by the times of their classification, so that a slow check, a second look or
// another order of conversations changes no answer. In memory: it begins anew with the process and with every change of the
// rules. Implements ING-135.

import type { AgentId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "./Limits.ts";

export interface Arrival {
  readonly sender: AgentId;
  readonly recordHash: RecordHash;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface Rate {
  /** Notes an item; the same one again changes nothing. */
  readonly note: (arrival: Arrival) => void;
  /** Whether more than `items` items of its sender, itself included, came within the `seconds` up to this one. */
  readonly isExceeded: (
    arrival: Arrival,
    bound: { readonly items: number; readonly seconds: number },
  ) => boolean;
}

type Known = ReadonlyArray<Pick<Arrival, "recordHash" | "at">>;

export const create = (): Rate => {
  const senders = new Map<AgentId, Known>();
  return {
    note: ({ sender, recordHash, at }) => {
      const known = senders.get(sender) ?? [];
      if (known.some((other) => other.recordHash === recordHash)) return;
      senders.delete(sender);
      // One more than any bound: with the last of them it is known that there were too many.
      const kept = [...known, { recordHash, at }].toSorted((a, b) => a.at - b.at);
      senders.set(sender, kept.slice(-(Limits.rateItemsMax + 1)));
      const [oldest] = senders.keys();
      if (senders.size > Limits.rateSendersMax && oldest !== undefined) senders.delete(oldest);
    },
    isExceeded: ({ sender, at }, { items, seconds }) => {
      const within = (senders.get(sender) ?? []).filter(
        (other) => other.at <= at && other.at > at - seconds * 1_000,
      );
      return within.length > items;
    },
  };
};
