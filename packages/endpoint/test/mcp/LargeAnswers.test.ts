import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as LargeAnswers from "../../src/mcp/LargeAnswers.ts";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, startEndpoint } from "./TestEndpoint.ts";

const cleanUps: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const settle = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await setImmediate();
};

const bench = (slowMs?: number) => {
  const line = LargeAnswers.make(slowMs);
  const begun: Array<string> = [];
  const answers = new Map<string, { readonly made: () => void; readonly fail: () => void }>();
  return {
    line,
    begun,
    close: line.close,
    made: async (name: string): Promise<void> => {
      answers.get(name)?.made();
      await settle();
    },
    fail: async (name: string): Promise<void> => {
      answers.get(name)?.fail();
      await settle();
    },
    ask: async (name: string, kind: LargeAnswers.Asker["kind"] = "local") => {
      const abort = new AbortController();
      const over = Promise.withResolvers<void>();
      const result = line.answer({ kind, gone: abort.signal, over: over.promise }, () => {
        begun.push(name);
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        answers.set(name, { made: () => resolve(name), fail: () => reject(new Error(name)) });
        return promise;
      });
      result.catch(() => {});
      await settle();
      return {
        result,
        taken: async () => {
          over.resolve();
          await settle();
        },
        leave: async () => {
          abort.abort();
          over.resolve();
          await settle();
        },
      };
    },
  };
};

verifies(
  "MGT-189",
  "two answers are made at a time, and the next when one is made or has failed",
  async () => {
    const { begun, ask, made, fail } = bench();
    for (const name of ["a", "b", "c", "d", "e"]) await ask(name);
    expect(begun).toEqual(["a", "b"]);
    await made("b");
    expect(begun).toEqual(["a", "b", "c"]);
    await fail("a");
    expect(begun).toEqual(["a", "b", "c", "d"]);
  },
);

verifies("MGT-189", "eight answers wait for the readers of one kind, and none of another's", async () => {
  const { begun, ask, made } = bench();
  const first = await ask("0");
  await made("0");
  for (let i = 1; i < 8; i++) {
    await ask(`${i}`);
    await made(`${i}`);
  }
  await ask("8");
  expect(begun).toHaveLength(8);
  await ask("owner's", "owner");
  expect(begun.at(-1)).toBe("owner's");
  await first.taken();
  expect(begun.at(-1)).toBe("8");
});

verifies(
  "MGT-189",
  "an answer that is long in the making, as where a Registry stalls, holds up nobody",
  async () => {
    const { begun, ask, made } = bench(50);
    const names = Array.from({ length: 12 }, (_, i) => `${i}`);
    for (const name of names) await ask(name);
    expect(begun).toEqual(["0", "1"]);
    await expect.poll(() => begun).toEqual(names);
    // It is not counted twice when it comes to its end after all.
    for (const name of names) await made(name);
    for (const name of ["a", "b", "c"]) await ask(name);
    expect(begun.slice(12)).toEqual(["a", "b"]);
  },
);

verifies("MGT-190", "the kinds of callers take turns, and within a kind who came first", async () => {
  const { begun, ask, made } = bench();
  for (const name of ["a", "b", "c", "d", "e"]) await ask(name, "local");
  for (const name of ["x", "y"]) await ask(name, "owner");
  for (const name of ["a", "b", "x", "c", "y", "d"]) await made(name);
  expect(begun).toEqual(["a", "b", "x", "c", "y", "d", "e"]);
});

verifies("MGT-190", "who leaves while it waits is never begun, and before it asks neither", async () => {
  const { begun, ask, made } = bench();
  await ask("a");
  await ask("b");
  const c = await ask("c");
  await ask("d");
  await c.leave();
  expect(await c.result).toBeNull();
  await made("a");
  await made("b");
  expect(begun).toEqual(["a", "b", "d"]);
});

verifies("MGT-190", "whose leaving is seen just after its turn came is not begun either", async () => {
  const { line, begun, ask } = bench();
  const abort = new AbortController();
  const late = line.answer({ kind: "local", gone: abort.signal, over: Promise.resolve() }, async () => {
    begun.push("late");
  });
  await setImmediate();
  abort.abort();
  expect(await late).toBeNull();
  await ask("next");
  expect(begun).toEqual(["next"]);
});

verifies("MGT-192", "who waits when it closes, or comes then, is told at once", async () => {
  const { begun, ask, made, close } = bench();
  const a = await ask("a");
  await ask("b");
  const c = await ask("c");
  close();
  expect(await c.result).toBeNull();
  expect(await (await ask("d")).result).toBeNull();
  await made("a");
  expect(await a.result).toBe("a");
  expect(begun).toEqual(["a", "b"]);
});

/** An endpoint whose reads of history end when the test says so. */
const start = async () => {
  const reads: Array<AbortSignal | undefined> = [];
  const done = Promise.withResolvers<void>();
  const endpoint = await startEndpoint({
    overrides: {
      readConversation: async (_, gone) => {
        reads.push(gone);
        await done.promise;
        gone?.throwIfAborted();
        return { kind: "page", records: [], continuation: null };
      },
    },
  });
  cleanUps.push(endpoint.close, done.resolve);
  const read = (token?: string) =>
    RawHttp.callTool(endpoint.port, "read_conversation", { address: "agent:bob" }, token);
  return { endpoint, reads, done, read };
};

verifies("MGT-189", "other tools, and reads of the inbox, do not wait behind history", async () => {
  const { endpoint, reads, done, read } = await start();
  const answers = Array.from({ length: 20 }, () => read());
  await expect.poll(() => reads.length).toBe(2);
  for (const name of ["status", "read_inbox", "search_agents"]) {
    expect((await RawHttp.callTool(endpoint.port, name, {})).status).toBe(200);
  }
  expect(reads).toHaveLength(2);
  done.resolve();
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  expect(reads).toHaveLength(20);
});

verifies(["MGT-190", "MGT-191"], "readers that leave are not read for, and a read hears of it", async () => {
  const { endpoint, reads, done, read } = await start();
  const body = JSON.stringify(
    RawHttp.message("tools/call", { name: "read_conversation", arguments: { address: "agent:bob" } }),
  );
  const headers = Object.entries({
    host: `127.0.0.1:${endpoint.port}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...RawHttp.headersOf("tools/call", "read_conversation"),
    "content-length": String(body.length),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(endpoint.port, "127.0.0.1").on("error", () => {});
    socket.write(`POST /mcp HTTP/1.1\r\n${headers.join("")}\r\n${body}`);
    return socket;
  });
  await expect.poll(() => reads.length).toBe(2);
  for (let i = 0; i < 3; i++) await RawHttp.callTool(endpoint.port, "status", {});
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => reads.every((gone) => gone?.aborted === true)).toBe(true);
  for (let i = 0; i < 3; i++) await RawHttp.callTool(endpoint.port, "status", {});
  done.resolve();
  expect((await read(ownerToken)).status).toBe(200);
  expect(reads).toHaveLength(3);
  expect(endpoint.log.filter(({ level }) => level !== "info")).toEqual([]);
});

verifies("MGT-192", "a stop answers the reads that wait at once, with 503", async () => {
  const { endpoint, reads, done, read } = await start();
  const answers = Array.from({ length: 20 }, () => read());
  await expect.poll(() => reads.length).toBe(2);
  for (let i = 0; i < 3; i++) await RawHttp.callTool(endpoint.port, "status", {});
  const stopped = endpoint.server.close();
  const first = await Promise.race(answers);
  expect([first.status, first.body.error?.message]).toEqual([503, "The endpoint is stopping."]);
  done.resolve();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, ...Array.from({ length: 18 }, () => 503)]);
  await stopped;
  expect(reads).toHaveLength(2);
});
