// Calls that their caller gives up, many calls at once, and what is left of all of them: nothing.

import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import {
  eventually,
  localClient,
  never,
  receiverFor,
  requestTo,
  tcpFor,
  urlAt,
  type Receiver,
  type Handler,
} from "./Receiver.ts";

const stopped = new Error("stopped by the caller");

verifies(
  "ING-74",
  "a call that is cancelled ends with the caller's reason and leaves no connection",
  async () => {
    const stages: ReadonlyArray<() => Promise<Receiver>> = [
      () => receiverFor(() => undefined),
      () => receiverFor((_request, response) => void response.writeHead(200).flushHeaders()),
      () => tcpFor(() => undefined),
    ];
    for (const stage of stages) {
      const receiver = await stage();
      const controller = new AbortController();
      const calling = localClient().post(requestTo(urlAt(receiver)), controller.signal);
      const settled = expect(calling).rejects.toBe(stopped);
      await eventually(() => receiver.open() === 1);
      controller.abort(stopped);
      await settled;
      await eventually(() => receiver.open() === 0);
      expect(receiver.connections()).toBe(1);
    }
  },
);

verifies(
  "ING-74",
  "a call cancelled during its query takes the query back, and one cancelled before it asks nothing",
  async () => {
    const asked: Array<AbortSignal> = [];
    const arrived = Promise.withResolvers<void>();
    const client = localClient({
      resolver: (_name, signal) => {
        asked.push(signal);
        arrived.resolve();
        return new Promise(() => undefined);
      },
    });
    const request = requestTo("https://receiver.example/");
    const controller = new AbortController();
    const settled = expect(client.post(request, controller.signal)).rejects.toBe(stopped);
    await arrived.promise;
    controller.abort(stopped);
    await settled;
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
    await expect(client.post(request, AbortSignal.abort(stopped))).rejects.toBe(stopped);
    expect(asked).toHaveLength(1);
  },
);

verifies("ING-74", "closing the client ends what is under way, and nothing goes out afterwards", async () => {
  const receiver = await receiverFor(() => undefined);
  const client = localClient();
  const settled = expect(client.post(requestTo(urlAt(receiver)), never)).rejects.toThrow("closed");
  await eventually(() => receiver.open() === 1);
  await client.close();
  await settled;
  await eventually(() => receiver.open() === 0);
  await expect(client.post(requestTo(urlAt(receiver)), never)).rejects.toThrow("closed");
  await client.close();
  expect(receiver.connections()).toBe(1);
});

verifies(
  "ING-74",
  "a header that nobody can write is the caller's defect and no failure of the receiver",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end());
    const request = { ...requestTo(urlAt(receiver)), headers: { "webhook-id": "a\nb" } };
    await expect(localClient().post(request, never)).rejects.toThrow();
    expect(receiver.requests).toEqual([]);
  },
);

/** For what is not about time: no machine is so slow. */
const ampleMs = 600_000;

verifies(
  "ING-74",
  "many calls at once each get their own answer",
  async () => {
    const receiver = await receiverFor((request, response) => {
      request.pipe(response);
    });
    const client = localClient({ deadlineMs: ampleMs });
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => client.post(requestTo(urlAt(receiver), `{"n":${i}}`), never)),
    );
    expect(
      answers.map((answer) => answer.kind === "answered" && Buffer.from(answer.body).toString()),
    ).toEqual(Array.from({ length: 64 }, (_, i) => `{"n":${i}}`));
    expect(receiver.connections()).toBe(64);
    await eventually(() => receiver.open() === 0);
  },
  ampleMs,
);

/** Bytes that are really in use, after everything that can go has gone. */
const heapBytes = (): number => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
};

/** The least of several looks, or the first that is little enough: what was let go of just now goes with a later one. */
const leastBytes = async (looks: number, enough: number): Promise<number> => {
  let least = Infinity;
  for (let i = 0; i < looks && least >= enough; i++) {
    least = Math.min(least, heapBytes());
    await setTimeout(10);
  }
  return least;
};

const sockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => /TCPSocketWrap|TLSWrap|Timeout/.test(name)).length;

verifies(
  "ING-74",
  "neither many calls nor endless answers leave anything in memory",
  async () => {
    const chunk = Buffer.alloc(65_536, 0x61);
    const endings: ReadonlyArray<Handler> = [
      (_request, response) => void response.end("taken"),
      (_request, response) => {
        const more = (): void => {
          while (response.write(chunk));
        };
        response.on("drain", more);
        more();
      },
      ({ socket }) => void socket.destroy(),
      ({ socket }) => void socket.end("garbage"),
    ];
    // The URL names the ending; the one that is none is never answered, and its caller gives up once it has arrived.
    let arrive: () => void = () => undefined;
    const receiver = await receiverFor((request, response) => {
      // What the receiver would keep of it is not the question.
      request.resume();
      const ending = endings[Number(request.url?.split("?")[1])];
      if (ending === undefined) arrive();
      else ending(request, response);
    });
    const client = localClient({ deadlineMs: ampleMs });
    const call = (ending: number, signal: AbortSignal): Promise<CallbackAnswer> =>
      client.post(requestTo(`${urlAt(receiver)}?${ending}`, "x".repeat(65_536)), signal);
    const round = async (): Promise<void> => {
      const { promise: arrived, resolve } = Promise.withResolvers<void>();
      arrive = resolve;
      const controller = new AbortController();
      const givenUp = expect(call(endings.length, controller.signal)).rejects.toBe(stopped);
      await Promise.all([arrived, ...endings.map((_, ending) => call(ending, never))]);
      controller.abort(stopped);
      await givenUp;
    };
    const calls = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += endings.length + 1) await round();
      await eventually(() => receiver.open() === 0);
    };
    // What is made once, and what a collection needs to settle.
    await calls(30);
    const [before, socketsBefore] = [await leastBytes(20, 0), sockets()];
    await calls(100);
    const growthMax = 4_000_000;
    expect((await leastBytes(500, before + growthMax)) - before).toBeLessThan(growthMax);
    expect(sockets()).toBeLessThanOrEqual(socketsBefore);
  },
  ampleMs,
);
