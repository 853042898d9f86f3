import { expect } from "vitest";
import type { Entry } from "@social-harness/log/Log";
import { subscription } from "@social-harness/log/Subscription";
import { makeWakeups } from "@social-harness/log/Wakeups";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf } from "./suite.ts";

verifies("RTR-64", "an entry that arrives between the look and the wait is not missed", async () => {
  const wakeups = makeWakeups();
  const entries: Array<Entry> = [];
  let looks = 0;
  const read = async (_: string, from: number): Promise<ReadonlyArray<Entry>> => {
    const page = entries.filter(({ position }) => position >= from);
    // The log grows, and says so, after this page was taken and before the subscription has it.
    if (looks++ < 3) {
      entries.push({ position: entries.length + 1, bytes: bytesOf("x") });
      wakeups.notify();
    }
    return page;
  };
  const seen: Array<number> = [];
  const stop = new AbortController();
  const deadline = setTimeout(() => stop.abort(), 2_000);
  for await (const { position } of subscription(read, wakeups, "s", 1, stop.signal)) {
    if (seen.push(position) === 3) break;
  }
  clearTimeout(deadline);
  expect(seen).toEqual([1, 2, 3]);
});

verifies("RTR-64", "those who wait are counted, so that nothing is polled when nobody does", async () => {
  const watched: Array<boolean> = [];
  const wakeups = makeWakeups((any) => watched.push(any));
  const stop = new AbortController();
  const waits = [wakeups.changedSince(0), wakeups.changedSince(0, stop.signal), wakeups.changedSince(0)];
  stop.abort();
  await waits[1];
  expect(watched).toEqual([true]);
  wakeups.notify();
  await Promise.all(waits);
  await wakeups.changedSince(0);
  expect(watched).toEqual([true, false]);
});
