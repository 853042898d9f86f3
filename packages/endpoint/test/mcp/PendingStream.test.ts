import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import { McpError } from "../../src/mcp/McpError.ts";
import * as PendingStream from "../../src/mcp/PendingStream.ts";

interface TestReader extends PendingStream.Reader {
  readonly frames: ReadonlyArray<string>;
  readonly counts: ReadonlyArray<number>;
  readonly errors: ReadonlyArray<object>;
  /** Stops or resumes reading. */
  readonly block: (blocked: boolean) => void;
  /** From now on a frame for this reader fails. */
  readonly breakOff: () => void;
  readonly leave: () => void;
}

const makeReader = (): TestReader => {
  const frames: Array<string> = [];
  const counts: Array<number> = [];
  const errors: Array<object> = [];
  const abort = new AbortController();
  let unblocked = Promise.resolve();
  let resume = (): void => {};
  let broken = false;
  return {
    frames,
    counts,
    errors,
    gone: abort.signal,
    ready: async () => {
      await new Promise(setImmediate);
      await unblocked;
    },
    send: async (method, params) => {
      if (broken || abort.signal.aborted) throw new Error("the reader is gone");
      frames.push(method.slice("notifications/events/".length));
      if (method === "notifications/events/error") errors.push(params);
      if (method === "notifications/events/event") {
        counts.push((params.data as { readonly pendingCount: number }).pendingCount);
      }
    },
    block: (blocked) => {
      resume();
      if (!blocked) return void (unblocked = Promise.resolve());
      const { promise, resolve } = Promise.withResolvers<void>();
      unblocked = promise;
      resume = resolve;
    },
    breakOff: () => void (broken = true),
    leave: () => abort.abort(),
  };
};

const makeInbox = (heartbeatMs = 1_000_000) => {
  const listeners = new Set<() => void>();
  const inbox = { count: 0, isBroken: false };
  const stream = PendingStream.make({
    pendingCount: () => {
      if (inbox.isBroken) throw new Error("the disk is gone");
      return inbox.count;
    },
    failure: () => new McpError(-32_603, "The store failed.", { reason: "persistence-failed" }),
    onPending: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    heartbeatMs,
    clock: () => 0,
    random: (byteCount) => new Uint8Array(byteCount),
  });
  const rise = (by = 1): void => {
    inbox.count += by;
    for (const listener of listeners) listener();
  };
  return { inbox, stream, rise, listeners };
};

/** Lets everything that can happen now happen. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

verifies(
  ["ING-41", "ING-42"],
  "active comes first, an event on attach only when something is unread",
  async () => {
    const { stream, rise } = makeInbox();
    const empty = makeReader();
    void stream.attach(empty);
    await settle();
    expect(empty.frames).toEqual(["active"]);
    rise(3);
    await settle();
    expect([empty.frames, empty.counts]).toEqual([["active", "event"], [3]]);
    const next = makeReader();
    void stream.attach(next);
    await settle();
    expect([next.frames, next.counts]).toEqual([["active", "event"], [3]]);
    await stream.close();
  },
);

verifies("ING-42", "what was acknowledged before the event leaves is not announced", async () => {
  const { stream, rise, inbox } = makeInbox();
  const reader = makeReader();
  void stream.attach(reader);
  await settle();
  rise();
  inbox.count = 0;
  await settle();
  expect(reader.frames).toEqual(["active"]);
  await stream.close();
});

verifies(
  "ING-192",
  "an inbox that cannot be counted is an error on a stream that stays, and is counted when it can be",
  async () => {
    const { stream, rise, inbox } = makeInbox(5);
    const reader = makeReader();
    inbox.isBroken = true;
    void stream.attach(reader);
    await until("it was told twice, with a heartbeat between", () =>
      /^active,error,(heartbeat,)+error/.test(reader.frames.join()),
    );
    inbox.count = 2;
    inbox.isBroken = false;
    await until("it is counted, though nothing rose", () => reader.counts.length > 0);
    expect(reader.counts[0]).toBe(2);
    inbox.isBroken = true;
    rise();
    await until("it is told again", () => /event.*error/.test(reader.frames.join()));
    inbox.isBroken = false;
    await until("it is counted again", () => reader.counts.length > 1);
    expect(reader.counts).toEqual([2, 3]);
    const [error] = reader.errors;
    expect(error).toEqual({
      error: { code: -32_603, message: "The store failed.", data: { reason: "persistence-failed" } },
    });
    // A reader that has left takes nobody with it.
    reader.breakOff();
    const next = makeReader();
    void stream.attach(next);
    await settle();
    expect(next.counts).toEqual([3]);
    await stream.close();
  },
);

verifies("ING-43", "C27: ten thousand rises wait as one event for a reader that does not read", async () => {
  const { stream, rise } = makeInbox(1);
  const reader = makeReader();
  reader.block(true);
  void stream.attach(reader);
  for (let i = 0; i < 10_000; i++) rise();
  await settle();
  expect(reader.frames).toEqual(["active"]);
  // Many heartbeats are due meanwhile as well; they wait as one.
  const end = performance.now() + 20;
  while (performance.now() < end) await settle();
  reader.block(false);
  await settle();
  expect(reader.counts).toEqual([10_000]);
  expect(reader.frames.slice(0, 3)).toEqual(["active", "event", "heartbeat"]);
  await stream.close();
});

verifies(
  "ING-46",
  "a newer stream takes over although the older does not read, and the older cannot touch it",
  async () => {
    const { stream, rise, listeners } = makeInbox();
    const older = makeReader();
    older.block(true);
    const olderEnded = stream.attach(older);
    await settle();
    const newer = makeReader();
    void stream.attach(newer);
    await settle();
    rise();
    await settle();
    expect(newer.frames).toEqual(["active", "event"]);

    older.breakOff();
    older.block(false);
    await olderEnded;
    older.leave();
    await settle();
    rise();
    await settle();
    expect(newer.counts).toEqual([1, 2]);
    expect(older.frames).toEqual(["active"]);
    expect(listeners.size).toBe(1);
    await stream.close();
    expect(listeners.size).toBe(0);
  },
);

verifies("ING-46", "the older stream is told that it was taken over, and then ends", async () => {
  const { stream } = makeInbox();
  const older = makeReader();
  const ended = stream.attach(older);
  await settle();
  void stream.attach(makeReader());
  await ended;
  expect(older.frames).toEqual(["active", "terminated"]);
  await stream.close();
});

verifies("ING-44", "heartbeats come at their interval, before and between events", async () => {
  expect(PendingStream.heartbeatMsDefault).toBe(15_000);
  const { stream, rise } = makeInbox(5);
  const reader = makeReader();
  void stream.attach(reader);
  while (reader.frames.filter((frame) => frame === "heartbeat").length < 2) await settle();
  rise();
  await settle();
  expect(reader.frames).toContain("event");
  const heard = reader.frames.length;
  while (reader.frames.length === heard) await settle();
  expect(reader.frames.at(-1)).toBe("heartbeat");
  await stream.close();
});

verifies("ING-47", "the first reason to end stays the reason", async () => {
  const { stream } = makeInbox();
  const reader = makeReader();
  const ended = stream.attach(reader);
  await settle();
  reader.block(true);
  const closed = stream.close();
  await stream.attach(makeReader());
  reader.block(false);
  await Promise.all([ended, closed]);
  expect(reader.frames).toEqual(["active"]);
});

verifies("ING-46", "a reader that left before it was attached holds no stream", async () => {
  const { stream, listeners } = makeInbox();
  const reader = makeReader();
  reader.leave();
  await stream.attach({ ...reader, send: async () => undefined });
  expect(listeners.size).toBe(0);
});

verifies("ING-47", "closing ends the stream, and every later one at once", async () => {
  const { stream, rise } = makeInbox();
  const reader = makeReader();
  const ended = stream.attach(reader);
  await settle();
  await stream.close();
  await ended;
  const late = makeReader();
  await stream.attach(late);
  rise();
  expect([reader.frames, late.frames]).toEqual([["active"], ["active"]]);
});

verifies(
  ["ING-41", "ING-42", "ING-43", "ING-46"],
  "whatever readers do in whatever order, the newest that stayed knows the count, and nobody else hears anything new",
  async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ kind: "rise" as const }) },
      { weight: 2, arbitrary: fc.constant({ kind: "attach" as const }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom("block", "unblock", "break", "leave"),
          which: fc.nat(9),
        }),
      },
      { weight: 2, arbitrary: fc.constant({ kind: "settle" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { stream, rise, inbox, listeners } = makeInbox();
        const readers: Array<TestReader> = [];
        const lost = new Set<TestReader>();
        for (const one of steps) {
          const reader = "which" in one ? readers[one.which % Math.max(readers.length, 1)] : undefined;
          if (one.kind === "rise") rise();
          else if (one.kind === "settle") await settle();
          else if (one.kind === "attach") {
            const attached = makeReader();
            readers.push(attached);
            void stream.attach(attached);
          } else if (reader !== undefined) {
            if (one.kind === "block") reader.block(true);
            if (one.kind === "unblock") reader.block(false);
            if (one.kind === "break") reader.breakOff();
            if (one.kind === "leave") reader.leave();
            if (one.kind === "break" || one.kind === "leave") lost.add(reader);
          }
        }
        for (const reader of readers) reader.block(false);
        await settle();
        rise();
        await settle();
        const newest = readers.at(-1);
        if (newest !== undefined && !lost.has(newest)) expect(newest.counts.at(-1)).toBe(inbox.count);
        for (const reader of readers) {
          if (reader.frames.length > 0) expect(reader.frames[0]).toBe("active");
          if (reader !== newest) expect(reader.counts).not.toContain(inbox.count);
          if (reader !== newest && !lost.has(reader)) expect(reader.frames.at(-1)).toBe("terminated");
        }
        await stream.close();
        expect(listeners.size).toBe(0);
      }),
      { numRuns: 60 },
    );
  },
);
