// Paging through one conversation beside a reference model: chains of every length around a page, small and large records,
// reads that begin anywhere, posts that arrive between any two pages, and many callers with one continuation.

import { statSync } from "node:fs";
import type { RecordHash } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { ReadConversationResult } from "../../src/operations/Operations.ts";
import { chainOf, readerOf, store } from "./HistoryReader.ts";

const address = "agent:bob";
const small = chainOf(["ann", "bob"], 110);
/** From a few bytes to the largest content, so that pages end by bytes as often as by records. */
const mixed = chainOf(["ann", "bob"], 110, (i) =>
  "x".repeat([1, 40_000, 262_117, 9, 120_000][(i * 7) % 5] as number),
);

const pageBytesMax = 2_097_152;
/** What a page adds to its records at most: the frame that is counted for each, and the result around them. */
const slackBytes = 51 * 128 + 256;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** What one page must be, given what the snapshot has left. */
const expectPage = (
  { records, continuation, kind }: ReadConversationResult,
  left: ReadonlyArray<{ readonly recordHash: string }>,
): void => {
  expect(kind).toBe("page");
  expect(records.map(({ recordHash }) => recordHash)).toEqual(
    left.slice(0, records.length).map(({ recordHash }) => recordHash),
  );
  expect(records.length).toBeLessThanOrEqual(50);
  if (left.length > 0) expect(records.length).toBeGreaterThanOrEqual(1);
  if (records.length > 1) expect(bytesOf(records)).toBeLessThanOrEqual(pageBytesMax);
  expect(continuation === null).toBe(records.length === left.length);
  const next = left[records.length];
  if (records.length < 50 && next !== undefined) {
    expect(bytesOf(records) + bytesOf(next)).toBeGreaterThan(pageBytesMax - slackBytes);
  }
};

verifies(
  ["MGT-40", "MGT-41", "MGT-42"],
  "a read is the chain as it was when it began, from anywhere, whatever arrives between its pages",
  async () => {
    const lengths = fc.oneof(
      fc.constantFrom(1, 2, 49, 50, 51, 99, 100, 101),
      fc.integer({ min: 1, max: 101 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(small, mixed),
        lengths,
        fc.option(fc.nat(120)),
        fc.array(fc.nat(3), { maxLength: 20 }),
        async (chain, length, after, arrivals) => {
          const stored = store(chain, length);
          const begin = after === null ? 0 : Math.min(after, length - 1) + 1;
          const hash =
            begin === 0 ? {} : { afterRecordHash: chain.records[begin - 1]?.recordHash as RecordHash };
          let left = chain.records.slice(begin, length);
          let page = await stored.read({ address, ...hash });
          expectPage(page, left);
          const seen = new Set<string>();
          for (let i = 0; page.continuation !== null; i++) {
            const { continuation } = page;
            expect(seen.has(continuation)).toBe(false);
            seen.add(continuation);
            stored.append(arrivals[i] ?? 1);
            left = left.slice(page.records.length);
            page = await stored.read({ continuation });
            expectPage(page, left);
          }
          // What came in between is there for whoever begins now.
          const last = chain.records[length - 1]?.recordHash as RecordHash;
          const rest = await stored.read({ address, afterRecordHash: last });
          expectPage(rest, chain.records.slice(length, stored.height()));
        },
      ),
      { numRuns: 20 },
    );
  },
);

verifies("MGT-41", "a snapshot ends where it ended when it began, however much arrives", async () => {
  const stored = store(small, 60);
  const { continuation } = await stored.read({ address });
  stored.append(50);
  const page = await stored.read({ continuation: continuation as string });
  expect(page.records.map(({ recordHash }) => recordHash)).toEqual(
    small.records.slice(50, 60).map(({ recordHash }) => recordHash),
  );
  expect(page.continuation).toBeNull();
});

verifies("MGT-42", "a page ends exactly with its fiftieth record", async () => {
  for (const [length, sizes] of [
    [1, [1]],
    [49, [49]],
    [50, [50]],
    [51, [50, 1]],
    [100, [50, 50]],
    [101, [50, 50, 1]],
  ] as const) {
    const { read } = store(small, length);
    let page = await read({ address });
    const counts = [page.records.length];
    while (page.continuation !== null) {
      page = await read({ continuation: page.continuation });
      counts.push(page.records.length);
    }
    expect([length, counts]).toEqual([length, sizes]);
  }
});

verifies("MGT-47", "a conversation without a certified GENESIS has no history", async () => {
  expect(await store(small, 0).reason({ address })).toBe("history-gap");
});

verifies(
  ["MGT-43", "MGT-108"],
  "of many calls with one continuation exactly one gets the page, and only its successor goes on",
  async () => {
    const { read } = store(small, 101);
    let { continuation } = await read({ address });
    for (const height of [50, 100]) {
      const calls = Array.from({ length: 16 }, () => read({ continuation: continuation as string }));
      const settled = await Promise.allSettled(calls);
      const pages = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(pages.map(({ records }) => records[0]?.recordCore.action.height)).toEqual([height]);
      for (const one of settled) {
        if (one.status === "rejected") expect(one.reason).toMatchObject({ reason: "invalid-continuation" });
      }
      continuation = pages[0]?.continuation ?? null;
    }
    expect(continuation).toBeNull();
  },
);

verifies(
  "MGT-44",
  "no other spelling of a live continuation is one, and none of them spends it",
  async () => {
    const { db, read, reason } = store(small, 60);
    const { continuation } = (await read({ address })) as { readonly continuation: string };
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(continuation.at(-1) as string);
    // The last character carries four bits: three others decode to the same bytes where a decoder is lax.
    const aliases = [1, 2, 3].map((stray) => continuation.slice(0, -1) + (alphabet[last ^ stray] as string));
    const others = [
      ...aliases,
      `${continuation}=`,
      `${continuation}==`,
      ` ${continuation}`,
      `${continuation}\n`,
      `${continuation}A`,
      continuation.slice(0, -1),
      continuation.toLowerCase() === continuation ? continuation.toUpperCase() : continuation.toLowerCase(),
      Buffer.from(continuation, "base64url").toString("hex"),
      "A".repeat(43),
    ];
    for (const other of others) {
      expect([other, await reason({ continuation: other })]).toEqual([other, "invalid-continuation"]);
    }
    // Another daemon on the same store, or this one after a restart, has never heard of it.
    expect(await readerOf(db).reason({ continuation })).toBe("invalid-continuation");
    expect((await read({ continuation })).records).toHaveLength(10);
    expect(await reason({ continuation })).toBe("invalid-continuation");
  },
);

verifies("MGT-44", "a continuation that has expired fails, and begins no new snapshot", async () => {
  const { db } = store(small, 60);
  let now = 0;
  const { read, reason } = readerOf(db, () => now);
  const { continuation } = (await read({ address })) as { readonly continuation: string };
  now = 600_000;
  expect(await reason({ continuation })).toBe("invalid-continuation");
});

verifies(
  "MGT-110",
  "no read transaction lives between pages: the log is cut while snapshots live",
  async () => {
    const stored = store(small, 60);
    const firsts = await Promise.all(Array.from({ length: 64 }, () => stored.read({ address })));
    stored.append(1);
    const log = `${stored.path}-wal`;
    expect(statSync(log).size).toBeGreaterThan(0);
    expect(stored.db.get("PRAGMA wal_checkpoint(TRUNCATE)")).toEqual({ busy: 0, log: 0, checkpointed: 0 });
    expect(statSync(log).size).toBe(0);
    for (const { continuation } of firsts) {
      expect((await stored.read({ continuation: continuation as string })).records).toHaveLength(10);
    }
  },
);
