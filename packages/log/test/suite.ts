// The contract of the Log port, one suite for every engine. An engine that keeps its entries on disk also says how to
// open the same log again.

import { describe, expect } from "vitest";
import type { AppendResult, Entry, Log, Position } from "@social-harness/log/Log";
import * as Limits from "@social-harness/log/Limits";
import { verifies } from "@social-harness/testkit/Verifies";

export interface Engine {
  readonly name: string;
  readonly open: () => Promise<Log>;
  /** Opens what `open` opened last, after its `close`. Absent when the engine keeps nothing. */
  readonly reopen?: () => Promise<Log>;
}

export const bytesOf = (text: string): Uint8Array => Buffer.from(text, "utf8");
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

const pairs = (entries: ReadonlyArray<Entry>): ReadonlyArray<readonly [Position, string]> =>
  entries.map(({ position, bytes }) => [position, textOf(bytes)] as const);

const positionOf = (result: AppendResult): Position => {
  if (result.kind !== "appended") throw new Error(`expected an append, got ${result.kind}`);
  return result.position;
};

const reason = (expected: string) => expect.objectContaining({ name: "LogError", reason: expected });

/** Reads page after page to the end. */
export const readAll = async (log: Log, stream: string, from = 1): Promise<ReadonlyArray<Entry>> => {
  const all: Array<Entry> = [];
  for (;;) {
    const page = await log.read(stream, (all.at(-1)?.position ?? from - 1) + 1);
    if (page.length === 0) return all;
    all.push(...page);
  }
};

const take = async (entries: AsyncIterable<Entry>, count: number): Promise<ReadonlyArray<Entry>> => {
  const taken: Array<Entry> = [];
  if (count === 0) return taken;
  for await (const entry of entries) if (taken.push(entry) === count) break;
  return taken;
};

export const logSuite = (engine: Engine): void => {
  const withLog = (body: (log: Log) => Promise<void>) => async (): Promise<void> => {
    const log = await engine.open();
    try {
      await body(log);
    } finally {
      await log.close();
    }
  };

  describe(`the log contract on ${engine.name}`, () => {
    appending(withLog);
    reading(withLog);
    subscribing(withLog, engine);
    living(withLog, engine);
  });
};

type WithLog = (body: (log: Log) => Promise<void>) => () => Promise<void>;

const appending = (withLog: WithLog): void => {
  verifies(
    "RTR-60",
    "positions count from 1 in each stream by itself",
    withLog(async (log) => {
      expect(await log.tail("a")).toBe(0);
      expect(await log.append("a", bytesOf("one"))).toEqual({ kind: "appended", position: 1 });
      expect(await log.append("a", bytesOf("two"))).toEqual({ kind: "appended", position: 2 });
      expect(await log.append("b", bytesOf(""))).toEqual({ kind: "appended", position: 1 });
      expect([await log.tail("a"), await log.tail("b"), await log.tail("c")]).toEqual([2, 1, 0]);
      expect(pairs(await log.read("b", 1))).toEqual([[1, ""]]);
    }),
  );

  verifies(
    "RTR-60",
    "100 concurrent appenders get 1000 positions without a gap, each appender's own in its order",
    withLog(async (log) => {
      const appender = async (worker: number): Promise<ReadonlyArray<Position>> => {
        const positions: Array<Position> = [];
        for (let i = 0; i < 10; i++) {
          positions.push(positionOf(await log.append("s", bytesOf(`${worker}/${i}`))));
        }
        return positions;
      };
      const positions = await Promise.all(Array.from({ length: 100 }, (_, worker) => appender(worker)));
      for (const own of positions) expect(own).toEqual(own.toSorted((x, y) => x - y));
      const entries = await readAll(log, "s");
      expect(entries.map((entry) => entry.position)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
      for (const [worker, own] of positions.entries()) {
        for (const [i, position] of own.entries()) {
          expect(textOf(entries[position - 1]?.bytes ?? bytesOf("none"))).toBe(`${worker}/${i}`);
        }
      }
    }),
  );

  verifies(
    "RTR-61",
    "an expected tail is the one that matches, or nothing is appended and the tail is told",
    withLog(async (log) => {
      expect(await log.append("s", bytesOf("x"), { expectedTail: 1 })).toEqual({
        kind: "position_conflict",
        tail: 0,
      });
      expect(await log.append("s", bytesOf("x"), { expectedTail: 0 })).toEqual({
        kind: "appended",
        position: 1,
      });
      expect(await log.append("s", bytesOf("y"), { expectedTail: 0 })).toEqual({
        kind: "position_conflict",
        tail: 1,
      });
      expect(await log.tail("s")).toBe(1);
    }),
  );

  verifies(
    "RTR-61",
    "of 100 appends at one expected tail exactly one is made",
    withLog(async (log) => {
      await log.append("s", bytesOf("first"));
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, i) => log.append("s", bytesOf(`${i}`), { expectedTail: 1 })),
      );
      const made = results.filter((result) => result.kind === "appended");
      expect(made).toEqual([{ kind: "appended", position: 2 }]);
      expect(results.filter((result) => result.kind === "position_conflict")).toHaveLength(99);
      expect(await log.tail("s")).toBe(2);
    }),
  );

  verifies(
    "RTR-62",
    "a known dedupe id appends nothing: its own bytes get their position, other bytes a conflict",
    withLog(async (log) => {
      await log.append("s", bytesOf("zero"));
      const options = { dedupeId: "m1" };
      expect(await log.append("s", bytesOf("one"), options)).toEqual({ kind: "appended", position: 2 });
      await log.append("s", bytesOf("between"));
      expect(await log.append("s", bytesOf("one"), options)).toEqual({ kind: "duplicate", position: 2 });
      expect(await log.append("s", bytesOf("other"), options)).toEqual({
        kind: "dedupe_conflict",
        position: 2,
      });
      expect(await log.append("t", bytesOf("other"), options)).toEqual({ kind: "appended", position: 1 });
      expect(await log.tail("s")).toBe(3);
    }),
  );

  verifies(
    "RTR-62",
    "a repeat with the expected tail of the first try is a duplicate, not a lost race",
    withLog(async (log) => {
      const options = { dedupeId: "m1", expectedTail: 0 };
      expect(await log.append("s", bytesOf("one"), options)).toEqual({ kind: "appended", position: 1 });
      expect(await log.append("s", bytesOf("one"), options)).toEqual({ kind: "duplicate", position: 1 });
    }),
  );

  verifies(
    "RTR-62",
    "100 concurrent repeats of one id append one entry",
    withLog(async (log) => {
      const results = await Promise.all(
        Array.from({ length: 100 }, () => log.append("s", bytesOf("same"), { dedupeId: "m" })),
      );
      expect(results.filter((result) => result.kind === "appended")).toHaveLength(1);
      expect(new Set(results.map((result) => ("position" in result ? result.position : -1)))).toEqual(
        new Set([1]),
      );
      expect(await log.tail("s")).toBe(1);
    }),
  );

  verifies(
    "RTR-67",
    "names, positions, ids and entries are accepted at their limits and refused one past",
    withLog(async (log) => {
      const entry = new Uint8Array(Limits.entryBytesMax);
      const id = "é".repeat(Limits.dedupeIdBytesMax / 2);
      expect(await log.append("n".repeat(64), entry, { dedupeId: id })).toMatchObject({ position: 1 });
      await expect(log.append("n".repeat(65), entry)).rejects.toEqual(reason("invalid"));
      for (const name of ["", "A", "a.b", "a--b", "-a", "a b", "*"]) {
        await expect(log.append(name, bytesOf(""))).rejects.toEqual(reason("invalid"));
        await expect(log.read(name, 1)).rejects.toEqual(reason("invalid"));
        await expect(log.tail(name)).rejects.toEqual(reason("invalid"));
        await expect(log.erase(name, 1, 1)).rejects.toEqual(reason("invalid"));
        await expect(take(log.subscribe(name, 1), 1)).rejects.toEqual(reason("invalid"));
      }
      await expect(log.append("s", new Uint8Array(Limits.entryBytesMax + 1))).rejects.toEqual(
        reason("invalid"),
      );
      for (const dedupeId of ["", `${id}x`, "a\0b", "\ud800"]) {
        await expect(log.append("s", bytesOf(""), { dedupeId })).rejects.toEqual(reason("invalid"));
      }
      for (const position of [-1, 0, 1.5, Number.NaN, 2 ** 53]) {
        await expect(log.read("s", position)).rejects.toEqual(reason("invalid"));
        await expect(take(log.subscribe("s", position), 1)).rejects.toEqual(reason("invalid"));
        await expect(log.erase("s", position, 1)).rejects.toEqual(reason("invalid"));
      }
      await expect(log.append("s", bytesOf(""), { expectedTail: -1 })).rejects.toEqual(reason("invalid"));
      await expect(log.read("s", 1, 0)).rejects.toEqual(reason("invalid"));
      expect(await log.tail("s")).toBe(0);
    }),
  );
};

const reading = (withLog: WithLog): void => {
  verifies(
    "RTR-63",
    "a page is bounded by entries and by bytes, and holds at least one entry",
    withLog(async (log) => {
      const small = Limits.readEntriesMax + 5;
      await Promise.all(Array.from({ length: small }, (_, i) => log.append("s", bytesOf(`${i}`))));
      expect(await log.read("s", 1)).toHaveLength(Limits.readEntriesMax);
      expect(await log.read("s", 1, 100_000)).toHaveLength(Limits.readEntriesMax);
      expect(pairs(await log.read("s", 3, 2))).toEqual([
        [3, "2"],
        [4, "3"],
      ]);
      expect(await log.read("s", small)).toHaveLength(1);
      expect(await log.read("s", small + 1)).toEqual([]);
      const large = new Uint8Array(Limits.entryBytesMax);
      const fitting = Math.floor(Limits.readBytesMax / Limits.entryBytesMax);
      await Promise.all(Array.from({ length: fitting + 2 }, () => log.append("large", large)));
      expect(await log.read("large", 1)).toHaveLength(fitting);
      expect(await log.read("large", fitting + 1)).toHaveLength(2);
    }),
  );

  verifies(
    "RTR-65",
    "erased entries are passed over, their positions stay used and their dedupe ids are free",
    withLog(async (log) => {
      for (let i = 1; i <= 5; i++) await log.append("s", bytesOf(`${i}`), { dedupeId: `m${i}` });
      await log.append("t", bytesOf("t"));
      await log.erase("s", 2, 3);
      await log.erase("s", 5, 900);
      expect(pairs(await log.read("s", 1))).toEqual([
        [1, "1"],
        [4, "4"],
      ]);
      expect(pairs(await log.read("s", 2))).toEqual([[4, "4"]]);
      expect(await log.read("s", 5)).toEqual([]);
      expect(await log.tail("s")).toBe(5);
      expect(await log.append("s", bytesOf("again"), { dedupeId: "m5" })).toEqual({
        kind: "appended",
        position: 6,
      });
      expect(await log.append("s", bytesOf("4"), { dedupeId: "m4" })).toEqual({
        kind: "duplicate",
        position: 4,
      });
      expect(pairs(await take(log.subscribe("s", 1), 3))).toEqual([
        [1, "1"],
        [4, "4"],
        [6, "again"],
      ]);
      expect(await log.read("t", 1)).toHaveLength(1);
    }),
  );
};

const subscribing = (withLog: WithLog, engine: Engine): void => {
  verifies(
    "RTR-64",
    "subscribers that begin anywhere see everything from there once, across catch-up and cut-over",
    withLog(async (log) => {
      const total = 1200;
      for (let i = 1; i <= 600; i += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, k) => log.append("s", bytesOf(`${i + k}`))));
      }
      const starts = [1, 2, 300, 600, 601, 900, total];
      const taken = starts.map((from) => take(log.subscribe("s", from), total - from + 1));
      for (let i = 601; i <= total; i += 3) {
        await Promise.all(Array.from({ length: 3 }, (_, k) => log.append("s", bytesOf(`${i + k}`))));
        if (i % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const [index, from] of starts.entries()) {
        const entries = await (taken[index] as (typeof taken)[number]);
        expect(entries.map((entry) => entry.position)).toEqual(
          Array.from({ length: total - from + 1 }, (_, i) => from + i),
        );
        expect(textOf(entries.at(-1)?.bytes ?? bytesOf(""))).toBe(`${total}`);
      }
    }),
  );

  verifies(
    "RTR-64",
    "a subscription ends when its signal aborts: before it begins, while it waits, between entries",
    withLog(async (log) => {
      await log.append("s", bytesOf("1"));
      await log.append("s", bytesOf("2"));
      const seen: Array<string> = [];
      for await (const entry of log.subscribe("s", 1, AbortSignal.abort())) seen.push(textOf(entry.bytes));
      expect(seen).toEqual([]);
      const between = new AbortController();
      for await (const entry of log.subscribe("s", 1, between.signal)) {
        seen.push(textOf(entry.bytes));
        between.abort();
      }
      expect(seen).toEqual(["1"]);
      const waiting = new AbortController();
      const ended = take(log.subscribe("s", 3, waiting.signal), 1);
      await new Promise((resolve) => setImmediate(resolve));
      waiting.abort();
      expect(await ended).toEqual([]);
    }),
  );

  verifies(
    "RTR-66",
    "closing fails the subscriptions that wait, keeps what was appended before, refuses everything after",
    async () => {
      const log = await engine.open();
      const waiting = expect(take(log.subscribe("s", 4), 1)).rejects.toEqual(reason("closed"));
      const appends = [1, 2, 3].map((i) => log.append("s", bytesOf(`${i}`)));
      await new Promise((resolve) => setImmediate(resolve));
      const late = log.append("t", bytesOf("t"));
      await log.close();
      await waiting;
      expect((await Promise.all(appends)).map(positionOf)).toEqual([1, 2, 3]);
      expect(await late).toEqual({ kind: "appended", position: 1 });
      await expect(log.append("s", bytesOf("x"))).rejects.toEqual(reason("closed"));
      await expect(log.read("s", 1)).rejects.toEqual(reason("closed"));
      await expect(log.tail("s")).rejects.toEqual(reason("closed"));
      await expect(log.erase("s", 1, 1)).rejects.toEqual(reason("closed"));
      await expect(take(log.subscribe("s", 1), 1)).rejects.toEqual(reason("closed"));
      await log.close();
      if (engine.reopen === undefined) return;
      const again = await engine.reopen();
      expect([await again.tail("s"), await again.tail("t")]).toEqual([3, 1]);
      await again.close();
    },
  );
};

const living = (withLog: WithLog, engine: Engine): void => {
  verifies(
    "RTR-63",
    "what an appender does to its buffer afterwards changes nothing",
    withLog(async (log) => {
      const bytes = Buffer.from("before");
      await log.append("s", bytes, { dedupeId: "m" });
      bytes.write("after!");
      expect(pairs(await log.read("s", 1))).toEqual([[1, "before"]]);
      expect(await log.append("s", bytesOf("before"), { dedupeId: "m" })).toMatchObject({
        kind: "duplicate",
      });
    }),
  );

  const { reopen } = engine;
  if (reopen === undefined) return;
  verifies(
    "RTR-68",
    "a restart keeps entries, positions, erasures, the tail and dedupe ids",
    withLog(async (log) => {
      for (let i = 1; i <= 4; i++) await log.append("s", bytesOf(`${i}`), { dedupeId: `m${i}` });
      await log.erase("s", 2, 2);
      await log.erase("s", 4, 4);
      await log.close();
      const again = await reopen();
      expect(pairs(await readAll(again, "s"))).toEqual([
        [1, "1"],
        [3, "3"],
      ]);
      expect(await again.append("s", bytesOf("3"), { dedupeId: "m3" })).toMatchObject({ kind: "duplicate" });
      expect(await again.append("s", bytesOf("5"), { expectedTail: 4 })).toMatchObject({ position: 5 });
      await again.close();
    }),
  );
};
