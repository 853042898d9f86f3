// What a receiver gets, and what its answer comes to: whole, redirecting, endless or broken.

import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { type CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import * as Limits from "../../src/callbacks/Limits.ts";
import type { Resolver } from "../../src/callbacks/Resolver.ts";
import {
  callOf,
  failed,
  localClient,
  lookup,
  never,
  receiverFor,
  requestTo,
  startTcp,
  tcpFor,
  urlAt,
  type Handler,
} from "./Receiver.ts";

verifies(["ING-67", "ING-69"], "a receiver gets one POST with exactly these headers and bytes", async () => {
  const bodies: Array<Buffer> = [];
  const receiver = await receiverFor((request, response) => {
    request.on("data", (chunk: Buffer) => bodies.push(chunk));
    request.on("end", () => response.writeHead(202, { "retry-after": "7" }).end("taken"));
  });
  const client = localClient();
  const body = Buffer.from(JSON.stringify({ text: "\u{1f512}".repeat(60_000) }));
  const headers = {
    "content-type": "application/json",
    "webhook-id": "evt_1",
    "X-MCP-Subscription-Id": "sub_1",
  };
  const answer = await client.post({ ...requestTo(`${urlAt(receiver)}?key=a%2Fb`), headers, body }, never);
  expect(answer).toEqual({
    kind: "answered",
    status: 202,
    retryAfterMs: 7_000,
    body: Uint8Array.from(Buffer.from("taken")),
  });
  expect(Buffer.concat(bodies).equals(body)).toBe(true);
  const [seen] = receiver.requests;
  expect(receiver.requests).toHaveLength(1);
  expect([seen?.request.method, seen?.request.url, seen?.serverName]).toEqual([
    "POST",
    "/hook?key=a%2Fb",
    "receiver.example",
  ]);
  expect(seen?.request.headers).toEqual({
    host: `receiver.example:${receiver.port}`,
    connection: "close",
    "content-type": "application/json",
    "content-length": String(body.length),
    "webhook-id": "evt_1",
    "x-mcp-subscription-id": "sub_1",
  });
});

for (const status of [200, 204, 304, 400, 410, 413, 429, 500, 503, 599]) {
  verifies("ING-72", `a whole answer with ${status} is an answer`, async () => {
    const receiver = await receiverFor((_request, response) => void response.writeHead(status).end());
    expect(await callOf(receiver)).toEqual({
      kind: "answered",
      status,
      retryAfterMs: null,
      body: new Uint8Array(),
    });
  });
}

for (const status of [300, 301, 302, 303, 307, 308]) {
  verifies("ING-69", `a redirect with ${status} is an answer and leads nowhere (C32)`, async () => {
    const elsewhere = await receiverFor((_request, response) => void response.end());
    const receiver = await receiverFor((_request, response) => {
      response.writeHead(status, { location: urlAt(elsewhere) }).end();
    });
    expect(await callOf(receiver)).toMatchObject({ kind: "answered", status });
    expect([receiver.connections(), elsewhere.connections()]).toEqual([1, 0]);
  });
}

verifies("ING-73", "a date in Retry-After is counted from the clock", async () => {
  const receiver = await receiverFor((_request, response) => {
    response.writeHead(503, { "retry-after": "Thu, 01 Jan 1970 00:01:40 GMT" }).end();
  });
  expect(await callOf(receiver, { clock: () => 40_000 })).toMatchObject({
    status: 503,
    retryAfterMs: 60_000,
  });
});

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const large: Readonly<Record<string, Handler>> = {
  "100 MB": (_request, response) => {
    const chunk = Buffer.alloc(65_536, 0x61);
    let left = 1_600;
    response.writeHead(200, { "content-length": String(chunk.length * left) });
    const more = (): void => {
      while (left > 0 && response.write(chunk)) left -= 1;
    };
    response.on("drain", more);
    more();
  },
  "chunks without an end": (_request, response) => {
    const more = (): void => {
      while (response.write("a".repeat(1_000)));
    };
    response.on("drain", more);
    more();
  },
  "a gzip bomb": (_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50_000_000)));
  },
};

for (const [name, handler] of Object.entries(large)) {
  verifies(
    ["ING-71", "ING-74"],
    `of ${name} the first 4 KiB are read and the connection is dropped (C41)`,
    async () => {
      const receiver = await receiverFor(handler);
      const answer = await callOf(receiver);
      expect(answer).toMatchObject({ kind: "answered", status: 200 });
      expect(answer.kind === "answered" && answer.body.length).toBe(Limits.answerBytesMax);
      // What was under way in buffers of both sides, and no hundred megabytes.
      expect(receiver.bytesWritten()).toBeLessThan(16_000_000);
    },
  );
}

for (const size of [Limits.answerBytesMax - 1, Limits.answerBytesMax, Limits.answerBytesMax + 1]) {
  verifies("ING-71", `a body of ${size} bytes is read up to the limit`, async () => {
    const receiver = await receiverFor((_request, response) => void response.end("b".repeat(size)));
    const answer = await callOf(receiver);
    expect(answer.kind === "answered" && answer.body.length).toBe(Math.min(size, Limits.answerBytesMax));
  });
}

const broken: Readonly<Record<string, readonly [CallbackAnswer, Handler]>> = {
  "closes without an answer": [failed("connection-lost"), ({ socket }) => void socket.destroy()],
  "ends without an answer": [failed("connection-lost"), ({ socket }) => void socket.end()],
  "closes in the middle of its head": [failed("connection-lost"), ({ socket }) => void socket.end(head)],
  "closes in the middle of a body": [
    failed("connection-lost"),
    ({ socket }) => void socket.end(`${head}content-length: 100\r\n\r\nhalf`),
  ],
  "closes in the middle of a chunk": [
    failed("connection-lost"),
    ({ socket }) => void socket.end(`${head}transfer-encoding: chunked\r\n\r\n64\r\nhalf`),
  ],
  "speaks garbage": [failed("answer-malformed"), ({ socket }) => void socket.end("\u0000garbage\r\n\r\n")],
  "speaks another protocol": [
    failed("answer-malformed"),
    ({ socket }) => void socket.write("220 mail ESMTP\r\n"),
  ],
  "answers with a status that HTTP does not know": [
    failed("answer-malformed"),
    ({ socket }) => void socket.end("HTTP/1.1 999 Whatever\r\ncontent-length: 0\r\n\r\n"),
  ],
  "gives a chunk a length that is no number": [
    failed("answer-malformed"),
    ({ socket }) => void socket.end(`${head}transfer-encoding: chunked\r\n\r\nmany\r\n`),
  ],
  "ends its body with the connection, as it may": [
    { kind: "answered", status: 200, retryAfterMs: null, body: Uint8Array.from(Buffer.from("taken")) },
    ({ socket }) => void socket.end(`${head}\r\ntaken`),
  ],
  "gives a length that is no number": [
    failed("answer-malformed"),
    ({ socket }) => void socket.end(`${head}content-length: many\r\n\r\n`),
  ],
  "gives two lengths": [
    failed("answer-malformed"),
    ({ socket }) => void socket.end(`${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
  ],
  "sends a head of a megabyte": [
    failed("answer-malformed"),
    ({ socket }) => void socket.write(`${head}x-long: ${"y".repeat(1_000_000)}\r\n\r\n`),
  ],
  "switches protocols unasked": [
    failed("connection-lost"),
    ({ socket }) =>
      void socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
  ],
};

for (const [name, [outcome, handler]] of Object.entries(broken)) {
  verifies(
    ["ING-69", "ING-72", "ING-76"],
    `a receiver that ${name}: ${JSON.stringify(outcome)}`,
    async () => {
      const receiver = await receiverFor(handler);
      expect(await callOf(receiver)).toEqual(outcome);
      expect([receiver.connections(), receiver.requests.length]).toEqual([1, 1]);
    },
  );
}

verifies(
  ["ING-69", "ING-76"],
  "a receiver that closes before it encrypts, and one that does not encrypt, fail as TLS",
  async () => {
    for (const handler of [
      (socket: { destroy: () => void }) => socket.destroy(),
      (socket: { end: (text: string) => void }) => socket.end("HTTP/1.1 200 OK\r\n\r\n"),
    ]) {
      const receiver = await tcpFor(handler);
      expect(await callOf(receiver)).toEqual(failed("tls-failed"));
      expect(receiver.connections()).toBe(1);
    }
  },
);

verifies(
  ["ING-64", "ING-76"],
  "a name without addresses is dns-failed, and so is one that no server knows",
  async () => {
    const request = requestTo("https://nowhere.example/");
    expect(await localClient({ resolver: lookup() }).post(request, never)).toEqual(failed("dns-failed"));
    const refusing: Resolver = () => Promise.reject(new Error("queryA ENOTFOUND nowhere.example"));
    expect(await localClient({ resolver: refusing }).post(request, never)).toEqual(failed("dns-failed"));
  },
);

verifies("ING-76", "a port where nobody listens is connection-refused", async () => {
  const { port, close } = await startTcp(() => undefined);
  await close();
  const answer = await localClient().post(requestTo(`https://receiver.example:${port}/`), never);
  expect(answer).toEqual(failed("connection-refused"));
});
