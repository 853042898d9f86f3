import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as Limits from "../../src/mcp/Limits.ts";
import * as Turns from "../../src/mcp/Turns.ts";

const cleanUps: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A server that answers in turns with what the path says, and what it has begun so far. */
const bench = async (patienceMs?: number) => {
  const turns = Turns.make(patienceMs);
  const begun: Array<string> = [];
  const ends = new Map<string, () => void>();
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "";
    turns.take(incoming, {
      outgoing,
      answer: async () => {
        begun.push(path);
        if (path.startsWith("/slow")) await new Promise<void>((resolve) => ends.set(path, resolve));
        outgoing.end(path === "/huge" ? Buffer.alloc(30_000_000) : path);
      },
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  cleanUps.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as { readonly port: number };
  return {
    begun,
    end: (path: string) => ends.get(path)?.(),
    open: async (): Promise<Socket> => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      cleanUps.push(() => socket.destroy());
      await once(socket, "connect");
      return socket;
    },
    /** When nothing more can be on its way: another connection was answered meanwhile, more than once. */
    settle: async (): Promise<void> => {
      for (let i = 0; i < 3; i++) await (await fetch(`http://127.0.0.1:${port}/settled`)).text();
      begun.splice(0, begun.length, ...begun.filter((path) => path !== "/settled"));
    },
  };
};

const asking = (...paths: ReadonlyArray<string>): string =>
  paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join("");

verifies("MGT-187", "of many requests on one connection each begins when the last is answered", async () => {
  const { begun, end, open, settle } = await bench();
  const socket = await open();
  let heard = "";
  socket.on("data", (chunk) => (heard += chunk.toString("latin1")));
  socket.write(asking("/slow1", "/b", "/slow2", "/d"));
  await expect.poll(() => begun).toEqual(["/slow1"]);
  await settle();
  expect(begun).toEqual(["/slow1"]);
  end("/slow1");
  await expect.poll(() => begun).toEqual(["/slow1", "/b", "/slow2"]);
  await settle();
  expect(begun).toEqual(["/slow1", "/b", "/slow2"]);
  end("/slow2");
  await expect.poll(() => heard).toMatch(/\/slow1[^]*\/b[^]*\/slow2[^]*\/d$/);
});

verifies("MGT-188", "what waits on a connection whose client has left is never begun", async () => {
  const { begun, end, open, settle } = await bench();
  const socket = await open();
  socket.write(asking("/slow", "/b", "/c"));
  await expect.poll(() => begun).toEqual(["/slow"]);
  socket.destroy();
  await settle();
  end("/slow");
  await settle();
  expect(begun).toEqual(["/slow"]);
});

verifies("MGT-188", "a reader that takes nothing is cut off, whatever else it has asked for", async () => {
  const { begun, open, settle } = await bench(50);
  const socket = await open();
  socket.pause();
  socket.write(asking("/huge", "/b", "/c"));
  const closed = once(socket, "close");
  // Only reading shows the end; what the kernel has taken is read first.
  await setTimeout(500);
  socket.resume();
  await closed;
  expect(socket.bytesRead).toBeLessThan(30_000_000);
  await settle();
  expect(begun).toEqual(["/huge"]);
  expect(Limits.readerPatienceMs).toBe(60_000);
});

verifies("MGT-187", "a connection on which more waits than is held is ended", async () => {
  const { begun, open } = await bench();
  const waiting = Array.from({ length: 32 }, (_, i) => `/${i}`);
  const allowed = await open();
  let heard = "";
  allowed.on("data", (chunk) => (heard += chunk.toString("latin1")));
  allowed.write(asking("/first", ...waiting));
  await expect.poll(() => heard.endsWith("/31")).toBe(true);
  begun.length = 0;
  const refused = await open();
  const closed = once(refused.resume(), "close");
  refused.write(asking("/slow", ...waiting, "/more"));
  await closed;
  expect(begun).toEqual(["/slow"]);
});
