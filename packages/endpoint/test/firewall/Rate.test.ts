// How many messages of one sender count together, in whatever order and by whatever clock they are looked at.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Limits from "../../src/firewall/Limits.ts";
import * as Rate from "../../src/firewall/Rate.ts";
import { cardOf } from "../ingress/CertifiedPosts.ts";

const bob = cardOf("bob").agentId;
const arrival = (order: number, at: number, sender = bob): Rate.Arrival => ({
  sender,
  recordHash: `rch_${order}` as never,
  order,
  at,
});
const looking = (rate: Rate.Rate, bound: Rate.Bound) => (one: Rate.Arrival) => {
  rate.note(one);
  return rate.isExceeded(one, bound);
};

verifies("ING-135", "of a flood nothing that is looked at again is taken for the first", () => {
  const bound = { items: 5, seconds: 60 };
  const rate = Rate.create([bound]);
  const isHeld = looking(rate, bound);
  for (let i = 0; i < 3_000; i++) expect(isHeld(arrival(i, i))).toBe(i >= 5);
  expect(rate.isExceeded(arrival(6, 6), bound)).toBe(true);
  // What came so long before that nothing of the flood counts for it, and what comes so long after.
  expect(isHeld(arrival(3_000, 62_999))).toBe(false);
});

verifies("ING-135", "as many as a bound can say count, at one instant as well", () => {
  const bound = { items: Limits.rateItemsMax, seconds: 1 };
  const isHeld = looking(Rate.create([bound]), bound);
  for (let i = 0; i < 2_500; i++) expect(isHeld(arrival(i, 7))).toBe(i >= bound.items);
  expect(isHeld(arrival(2_500, 1_007))).toBe(false);
});

verifies("ING-135", "what is looked at late counts by its own time", () => {
  const bound = { items: 1, seconds: 60 };
  const isHeld = looking(Rate.create([bound]), bound);
  expect([
    isHeld(arrival(1, 0)),
    isHeld(arrival(3, 70_000)),
    isHeld(arrival(2, 30_000)),
    isHeld(arrival(4, 80_000)),
    isHeld(arrival(5, 141_000)),
    // By now all that would count for it is forgotten; it counts itself.
    isHeld(arrival(0, -90_000)),
  ]).toEqual([false, false, true, true, false, false]);
});

verifies("ING-135", "the sender that was heard longest ago is forgotten, and no other", () => {
  const bound = { items: 1, seconds: 60 };
  const isHeld = looking(Rate.create([bound]), bound);
  const senders = Array.from({ length: Limits.rateSendersMax + 1 }, (_, i) => `agt_${i}` as never);
  for (const [i, sender] of senders.entries()) expect(isHeld(arrival(i, i, sender))).toBe(false);
  expect(isHeld(arrival(2_000, 2_000, senders[1]))).toBe(true);
  expect(isHeld(arrival(2_001, 2_001, senders[0]))).toBe(false);
});

verifies("ING-247", "a clock that was set back takes nothing out of the count", () => {
  const bound = { items: 3, seconds: 60 };
  const hour = 3_600_000;
  const rate = Rate.create([bound]);
  const isHeld = looking(rate, bound);
  const burst = (first: number, at: number) =>
    Array.from({ length: 6 }, (_, i) => isHeld(arrival(first + i, at + i)));
  const counted = [false, false, false, true, true, true];
  expect(burst(0, 2 * hour)).toEqual(counted);
  expect(burst(10, hour)).toEqual(counted);
  // By less than a window: what was counted just before is ahead, and the count begins again.
  expect(burst(20, hour - 1_000)).toEqual(counted);
  // Looked at late, by the clock of before: it takes nothing away from those that came since.
  expect(isHeld(arrival(6, 2 * hour + 9))).toBe(false);
  expect(isHeld(arrival(30, hour))).toBe(true);
  expect(burst(40, 3 * hour)).toEqual(counted);
});

verifies("ING-247", "a flood before the clock was set back is none after it", () => {
  const bound = { items: 3, seconds: 60 };
  const isHeld = looking(Rate.create([bound]), bound);
  for (let i = 0; i < 2_000; i++) isHeld(arrival(i, 1_000_000 + i));
  expect([2_000, 2_001, 2_002, 2_003].map((order) => isHeld(arrival(order, order)))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

verifies("ING-247", "no message passes a rate of none, whatever its time", () => {
  const bound = { items: 0, seconds: 1 };
  const isHeld = looking(Rate.create([bound]), bound);
  for (const [order, at] of [9_000, 6_000, 8_000, 1, 100_000].entries())
    expect(isHeld(arrival(order, at))).toBe(true);
});
