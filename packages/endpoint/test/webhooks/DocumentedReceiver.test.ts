// The receiver of docs/webhooks.md, run as it stands there, against what this endpoint sends, and the signatures that the page shows.

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
import * as StandardWebhook from "../../src/callbacks/StandardWebhook.ts";
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

const rotated = secretOf("its successor");
const page = readFileSync(join(root, "docs/webhooks.md"), "utf8");

const startReceiver = async () => {
  const source = /^```js\n(.*?)^```$/ms.exec(page)?.[1] as string;
  expect(source.split("\n").length).toBeLessThanOrEqual(33);
  const folder = temporaryFolder();
  writeFileSync(join(folder, "receiver.mjs"), source);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const port = await freePort();
  const child = spawn(process.execPath, ["receiver.mjs"], {
    cwd: folder,
    env: { PORT: String(port), WEBHOOK_SECRETS: `${rotated} ${secret}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  const lines: Array<string> = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const refusals: Array<string> = [];
  createInterface({ input: child.stderr }).on("line", (line) => refusals.push(line));
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
  return { lines, refusals, port, post };
};

verifies(
  ["ING-110", "ING-212"],
  "the documented receiver takes items and references, once each, and refuses the rest",
  async () => {
    const { lines, refusals, port, post } = await startReceiver();
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
    await bench.settle();
    // Its challenge is signed with the new secret, what was due before with the old, and both are taken.
    expect((await bench.webhooks.subscribe("runtime", { ...input, secret: rotated })).kind).toBe(
      "subscribed",
    );
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
    // Longer than any delivery, and without a length that it could be refused by: it is cut off before it is read to its end.
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.alloc(65_536)) });
    const request = { method: "POST", body: endless, duplex: "half" } as RequestInit;
    const cut = await fetch(`http://127.0.0.1:${port}/`, request).then(
      ({ status }) => status,
      () => "cut off",
    );
    expect([400, "cut off"]).toContain(cut);
    for (let i = 0; i < 500 && refusals.length < 4; i++) await sleep(20);
    expect(refusals).toEqual([
      "refused: No matching signature found",
      "refused: No matching signature found",
      "refused: Message timestamp too old",
      "refused: longer than any delivery",
    ]);
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

verifies("ING-213", "the requests that the page shows are signed with the secret that it names", () => {
  const key = StandardWebhook.parseSecret(/`(whsec_[^`]+)`/.exec(page)?.[1] as string);
  const shown = [...page.matchAll(/^```http\n(.*?)\n\n(.*?)\n```$/gms)];
  expect(shown).toHaveLength(2);
  for (const [, head = "", body = ""] of shown) {
    const header = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(head)?.[1] as string;
    const seconds = Number(header("webhook-timestamp"));
    expect(
      StandardWebhook.sign(
        key as StandardWebhook.WebhookSecret,
        header("webhook-id"),
        seconds,
        Buffer.from(body),
      ),
    ).toBe(header("webhook-signature"));
  }
});
