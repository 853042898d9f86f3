// The receiver of docs/webhooks.md, run as it stands there, against what this endpoint sends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import * as Inbox from "../../src/ingress/Inbox.ts";
import type { CallbackAnswer } from "../../src/callbacks/CallbackClient.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";
import { createBench, itemOf, type Request, secretOf, urlOf } from "./WebhookBench.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

const freePort = async (): Promise<number> => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

const secret = secretOf("documented");

const startReceiver = async () => {
  const page = readFileSync(join(root, "docs/webhooks.md"), "utf8");
  const source = /^```js\n(.*?)^```$/ms.exec(page)?.[1] as string;
  expect(source.split("\n").length).toBeLessThanOrEqual(31);
  const folder = temporaryFolder();
  writeFileSync(join(folder, "receiver.mjs"), source);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const port = await freePort();
  const child = spawn(process.execPath, ["receiver.mjs"], {
    cwd: folder,
    env: { PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const lines: Array<string> = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const post = async ({ headers, body }: Request): Promise<CallbackAnswer> => {
    for (let tries = 0; ; tries++) {
      try {
        const sent = Buffer.from(body);
        const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: sent });
        const bytes = new Uint8Array(await answer.arrayBuffer());
        return { kind: "answered", status: answer.status, retryAfterMs: null, body: bytes };
      } catch (error) {
        // It has only just been started.
        if (tries === 100) throw error;
        await sleep(50);
      }
    }
  };
  return { lines, post };
};

verifies(
  "ING-110",
  "the documented receiver takes items and references, once each, and refuses the rest",
  async () => {
    const { lines, post } = await startReceiver();
    const db = temporaryStore();
    const sent: Array<Request> = [];
    const bench = createBench(() => db, {
      post: (request) => {
        sent.push(request);
        return post(request);
      },
    });
    // The library knows only the present.
    bench.now = Date.now();
    const input = { url: urlOf("https://receiver.example/hook"), secret, ttlMs: null };
    const wrong = { ...input, secret: secretOf("another") };
    expect(await bench.webhooks.subscribe("runtime", wrong)).toEqual({
      kind: "unverified",
      error: "http_4xx",
    });
    expect((await bench.webhooks.subscribe("runtime", input)).kind).toBe("subscribed");
    const small = bench.admit("small");
    const large = bench.admit("x".repeat(262_000));
    for (let i = 0; i < 200 && Inbox.unreadCount(db) > 0; i++) await sleep(20);
    expect(Inbox.unreadCount(db)).toBe(0);
    // The same delivery again, as after a lost receipt: taken again, and handled once.
    const again = sent.at(-1) as Request;
    expect(await post(again)).toMatchObject({ status: 200 });
    const forged = { ...again, body: Buffer.concat([Buffer.from(again.body), Buffer.from(" ")]) };
    expect(await post(forged)).toMatchObject({ status: 400 });
    const old = { ...again.headers, "webhook-timestamp": String(Math.floor(Date.now() / 1_000) - 301) };
    expect(await post({ ...again, headers: old })).toMatchObject({ status: 400 });
    expect(lines).toHaveLength(2);
    const printed = lines.map((line) => {
      const [id, ...data] = line.split(" ");
      return [id, JSON.parse(data.join(" ")) as unknown];
    });
    expect(printed).toEqual([
      [eventIdOf(small), { kind: "item", item: itemOf("small") }],
      [eventIdOf(large), { kind: "reference", itemKind: "multicast", bytes: expect.any(Number) as number }],
    ]);
  },
);
