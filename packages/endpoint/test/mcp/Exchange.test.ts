import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect, test } from "vitest";
import * as Exchange from "../../src/mcp/Exchange.ts";

const servers: Array<Server> = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that answers with what `respond` makes, and a raw connection that has asked but reads nothing yet. */
const ask = async (
  respond: (request: Request, outlet: Exchange.Outlet) => Response,
  patienceMs?: number,
): Promise<{ readonly socket: Socket; readonly served: Promise<void> }> => {
  const { promise: served, resolve } = Promise.withResolvers<void>();
  const exchanges = Exchange.make(
    async (request) => respond(request, exchanges.outletOf(request) as Exchange.Outlet),
    () => "http://127.0.0.1",
    patienceMs,
  );
  const server = createServer((incoming, outgoing) =>
    resolve(exchanges.serve(incoming, outgoing, {}, { kind: "local", mode: "trusted-local" })),
  );
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  socket.pause();
  socket.write(
    "POST /mcp HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
  );
  return { socket, served };
};

/** Frames without end, one after another as the stream is read. */
const endless = (onCancel: () => void): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(100_000)),
    cancel: onCancel,
  });

const textOf = async (socket: Socket): Promise<string> => {
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString("latin1");
  return text;
};

test("head and body reach the handler and the reader as they are", async () => {
  const { socket, served } = await ask((request) => {
    expect([request.method, request.url, request.headers.get("x-test")]).toEqual([
      "POST",
      "http://127.0.0.1/mcp",
      "yes",
    ]);
    return new Response("hello", { status: 418, headers: { "x-answer": "no" } });
  });
  const text = await textOf(socket);
  expect(text).toMatch(/^HTTP\/1.1 418 /);
  expect(text).toContain("x-answer: no");
  expect(text).toContain("hello");
  await served;
});

test("a short answer says its length and is not cut into chunks", async () => {
  const { socket, served } = await ask(() => Response.json({ answer: "yes" }));
  const text = await textOf(socket);
  expect(text).toMatch(/\r\ncontent-length: 16\r\n/i);
  expect(text).not.toMatch(/transfer-encoding/i);
  expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toBe('{"answer":"yes"}');
  await served;
});

test("an answer in several chunks arrives whole, whichever of them is short", async () => {
  const parts = [10, 70_000, 10, 0, 5].map((length) => "x".repeat(length));
  const { socket, served } = await ask(
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => {
            for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
            controller.close();
          },
        }),
      ),
  );
  const text = await textOf(socket);
  await served;
  const body = text.slice(text.indexOf("\r\n\r\n") + 4).replace(/\r?\n?[0-9a-f]+\r\n/g, "");
  expect(body.replaceAll(/[^x]/g, "").length).toBe(70_025);
});

test("a stream's first frame does not wait for its second", async () => {
  const { socket } = await ask(
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1")),
        }),
        { headers: { "content-type": "text/event-stream" } },
      ),
  );
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    text += chunk.toString("latin1");
    if (text.includes("data: 1")) break;
  }
  expect(text).toContain("data: 1");
});

verifies("ING-43", "C27: a reader that is slow but alive gets every byte", async () => {
  const page = "x".repeat(12_000_000);
  const { socket, served } = await ask(() => new Response(page));
  for (let i = 0; i < 200; i++) await setImmediate();
  const text = await textOf(socket);
  await served;
  const body = text.slice(text.indexOf("\r\n\r\n") + 4).replace(/\r?\n?[0-9a-f]+\r\n/g, "");
  expect(body.replaceAll(/[^x]/g, "").length).toBe(page.length);
});

verifies(
  "ING-43",
  "C27: a reader that takes nothing more is cut off, and its stream is cancelled",
  async () => {
    let cancelled = false;
    let left = false;
    const { socket, served } = await ask((request) => {
      request.signal.addEventListener("abort", () => void (left = true));
      return new Response(endless(() => void (cancelled = true)));
    }, 50);
    await served;
    expect([cancelled, left]).toEqual([true, true]);
    socket.destroy();
  },
);

verifies(
  "ING-43",
  "C27: a reader that disconnects while it is waited for leaves nothing behind",
  async () => {
    let cancelled = false;
    let outlet: Exchange.Outlet | undefined;
    const { socket, served } = await ask((_request, own) => {
      outlet = own;
      return new Response(endless(() => void (cancelled = true)));
    });
    // Reading one chunk proves that the response is under way; then nothing is read until the buffers are full.
    await once(socket, "readable");
    for (let i = 0; i < 500; i++) await setImmediate();
    const waiting = outlet?.ready();
    socket.destroy();
    await Promise.all([waiting, served]);
    expect(cancelled).toBe(true);
  },
);
