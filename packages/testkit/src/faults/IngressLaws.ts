// The laws between a certified post and the receiver of a webhook, once all is quiet: a store against the receiver's own
// record. Pure.

import { type DeliveryToken, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import type { Disk, StoredItem } from "./Disk.ts";
import type { Faults } from "./Fault.ts";
import type { Attempt } from "./Received.ts";
import type { Fate } from "./Wall.ts";

export interface Counts {
  readonly received: number;
  readonly held: number;
  readonly attempts: number;
  /** Receipts that were given once more, since a kill came between the first one and its commit. */
  readonly repeatedReceipts: number;
  /** Posts that were held since the checker failed, which a busy machine may do to it. */
  readonly failedChecks: number;
}

export interface Hooked {
  readonly disk: Disk;
  readonly attempts: ReadonlyArray<Attempt>;
  /** What must become of a post, by its id. */
  readonly fateOf: (postId: string) => Fate;
}

const eventOf = (token: string): string => eventIdOf(token as DeliveryToken);

/** Each remote post is one acknowledged item or one hold, as its text has it. Returns how many checks failed. */
const askFates = ({ disk, fateOf }: Hooked, faults: Faults): number => {
  const { name, agentId, conversations, items, holds } = disk;
  const itemsOf = Map.groupBy(items, ({ recordHash }) => recordHash ?? "");
  const holdsOf = Map.groupBy(holds, ({ recordHash }) => recordHash);
  let failedChecks = 0;
  for (const { records, pending, queued } of conversations) {
    if (pending.length + queued.length > 0) faults.add(`${name} has posts that never came to their end`);
    for (const { recordHash, author, postId } of records) {
      const [item, ...more] = itemsOf.get(recordHash) ?? [];
      const [hold, ...others] = holdsOf.get(recordHash) ?? [];
      const ends = [item, ...more, hold, ...others].filter((end) => end !== undefined).length;
      if (ends !== (author === agentId ? 0 : 1))
        faults.add(`${name} has ${ends} items and holds for the post ${postId}`);
      const fate = fateOf(postId);
      if (item !== undefined && fate.kind === "held") faults.add(`${name} let ${postId} through`);
      if (item !== undefined && fate.kind === "allowed" && item.guidance !== fate.guidance)
        faults.add(`${name} gave ${postId} other guidance than its owner's`);
      if (hold === undefined) continue;
      if (hold.reason === "check-failed") failedChecks++;
      else if (fate.kind !== "held" || fate.reason !== hold.reason || fate.explanation !== hold.explanation)
        faults.add(`${name} holds ${postId} for another reason than its owner's`);
    }
  }
  return failedChecks;
};

/** One event and all its attempts. Returns how many receipts were given for it. */
const askEvent = (
  name: string,
  { token, digest, guidance, acknowledgedAt }: StoredItem,
  attempts: ReadonlyArray<Attempt>,
  faults: Faults,
): number => {
  const eventId = eventOf(token);
  const bodies = new Set<string>();
  for (const { at, event } of attempts) {
    if (acknowledgedAt !== null && acknowledgedAt < at)
      faults.add(`${name} sent ${eventId} again after its receipt was stored`);
    if (event === null) continue;
    bodies.add(event.digest);
    if (event.eventId !== eventId) faults.add(`${name} sent ${event.eventId} under the head of ${eventId}`);
    if (!event.isSigned) faults.add(`${name} did not sign an attempt of ${eventId}`);
    if (event.itemDigest !== null && event.itemDigest !== digest)
      faults.add(`${name} sent another item than it has for ${eventId}`);
    if (event.guidance !== guidance) faults.add(`${name} sent other guidance than it has for ${eventId}`);
  }
  if (bodies.size > 1) faults.add(`${name} sent ${bodies.size} bodies for ${eventId}`);
  const receipts = attempts.filter(({ reply }) => reply === "taken").length;
  if (receipts > 0 !== (acknowledgedAt !== null))
    faults.add(
      `${name} has ${eventId} ${acknowledgedAt === null ? "un" : ""}acknowledged at ${receipts} receipts`,
    );
  if (acknowledgedAt === null) faults.add(`${name} never delivered ${eventId}`);
  else if (attempts.at(-1)?.reply !== "taken")
    faults.add(`${name} stored a receipt for ${eventId} that was none`);
  return receipts;
};

/** Events come in the order of the inbox, and none begins before the one before it has ended. */
const askOrder = ({ disk: { name, items }, attempts }: Hooked, faults: Faults): void => {
  const owed = items.map(({ token }) => eventOf(token));
  const came = attempts.map(({ webhookId }) => webhookId).filter((id, index, all) => id !== all[index - 1]);
  if (came.join() !== owed.join())
    faults.add(`the webhook of ${name} got other events than the inbox has, or in another order`);
};

export const askSettled = (hooked: Hooked, faults: Faults): Counts => {
  const { disk, attempts } = hooked;
  const failedChecks = askFates(hooked, faults);
  askOrder(hooked, faults);
  const attemptsOf = Map.groupBy(attempts, ({ webhookId }) => webhookId);
  let receipts = 0;
  for (const item of disk.items)
    receipts += askEvent(disk.name, item, attemptsOf.get(eventOf(item.token)) ?? [], faults);
  return {
    received: disk.items.length,
    held: disk.holds.length,
    attempts: attempts.length,
    repeatedReceipts: receipts - disk.items.length,
    failedChecks,
  };
};

export const sum = (counts: ReadonlyArray<Counts>): Counts => {
  const total = (count: (counts: Counts) => number): number => counts.reduce((so, one) => so + count(one), 0);
  return {
    received: total(({ received }) => received),
    held: total(({ held }) => held),
    attempts: total(({ attempts }) => attempts),
    repeatedReceipts: total(({ repeatedReceipts }) => repeatedReceipts),
    failedChecks: total(({ failedChecks }) => failedChecks),
  };
};
