// Receivers and name servers that take their time: all of them meet the same deadline, and nothing of them stays.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Limits from "../../src/callbacks/Limits.ts";
import type { Resolver } from "../../src/callbacks/Resolver.ts";
import {
  callOf,
  failed,
  localClient,
  loopback,
  never,
  receiverFor,
  requestTo,
  tcpFor,
  urlAt,
  type Handler,
} from "./Receiver.ts";

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const slow: Readonly<Record<string, Handler>> = {
  "never answers": () => undefined,
  "answers after the deadline": (_request, response) => {
    const timer = setTimeout(() => response.end("late"), 3_000);
    response.on("close", () => clearTimeout(timer));
  },
  "sends its head and stalls": (_request, response) => void response.writeHead(200).flushHeaders(),
  "sends half of a body and stalls": (_request, response) => {
    response.writeHead(200, { "content-length": "10" }).write("half ");
  },
  "sends a header a moment, for ever": ({ socket }) => {
    socket.write(head);
    const timer = setInterval(() => socket.write("x-more: y\r\n"), 20);
    socket.on("close", () => clearInterval(timer));
  },
  "sends a byte of body a moment, for ever": (_request, response) => {
    const timer = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(timer));
  },
  "asks for patience, for ever": (_request, response) => {
    const timer = setInterval(() => response.writeProcessing(), 20);
    response.on("close", () => clearInterval(timer));
  },
};

for (const [name, handler] of Object.entries(slow)) {
  verifies(["ING-70", "ING-72", "ING-74"], `a receiver that ${name} is a timeout (C34, C41)`, async () => {
    const receiver = await receiverFor(handler);
    expect(await callOf(receiver, { deadlineMs: 500 })).toEqual(failed("timeout"));
    expect(receiver.connections()).toBe(1);
  });
}

verifies(
  ["ING-70", "ING-74"],
  "a receiver that takes connections and says nothing is a timeout",
  async () => {
    const receiver = await tcpFor(() => undefined);
    expect(await callOf(receiver, { deadlineMs: 500 })).toEqual(failed("timeout"));
  },
);

verifies(
  ["ING-70", "ING-74"],
  "a name server that never answers is a timeout, and its query is taken back",
  async () => {
    const signals: Array<AbortSignal> = [];
    const resolver: Resolver = (_name, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const client = localClient({ deadlineMs: 100, resolver });
    expect(await client.post(requestTo("https://receiver.example/"), never)).toEqual(failed("timeout"));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  },
);

verifies("ING-70", "the deadline is ten seconds where nothing else is said", () => {
  expect(Limits.deadlineMs).toBe(10_000);
});

verifies(
  ["ING-70", "ING-74"],
  "a name server that answers after the deadline leads to no connection any more",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end());
    const late = Promise.withResolvers<ReadonlyArray<string>>();
    const client = localClient({ deadlineMs: 50, resolver: () => late.promise });
    expect(await client.post(requestTo(urlAt(receiver)), never)).toEqual(failed("timeout"));
    late.resolve([loopback]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receiver.connections()).toBe(0);
  },
);
