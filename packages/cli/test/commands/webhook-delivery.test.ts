// The whole way: what one agent sends goes through a real network to another's daemon in credentials mode, and from there to a
// real HTTPS receiver that its host has subscribed, across kills of the daemon and failures of the receiver. Set up by the steps
// that docs/webhooks.md gives for one machine, and subscribed by the request that stands there.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { repositoryRoot, type Served, serve } from "../Binary.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const daemons: Array<Served> = [];

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** False where it was answered with a failure. */
  readonly taken: boolean;
}

const received: Array<Received> = [];
/** How the receiver answers the deliveries to come. */
let status = 200;

const answerOf = (headers: IncomingHttpHeaders, body: string): readonly [number, string] => {
  const message = new Webhook(secret).verify(body, headers as Record<string, string>) as {
    readonly type?: string;
    readonly challenge?: string;
  };
  if (message.type === "verification") return [200, JSON.stringify({ challenge: message.challenge })];
  received.push({ headers, body, taken: status === 200 });
  return [status, ""];
};

const receiver = createServer(async (request, response) => {
  const chunks: Array<Buffer> = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const [code, body] = answerOf(request.headers, Buffer.concat(chunks).toString("utf8"));
  response.writeHead(code).end(body);
});

const startAda = async (): Promise<Served> => {
  const words = ["daemon", "--state", ada, "--port", "0", "--mode", "credentials", "--json"];
  const daemon = await serve([...words, "--allow-test-callbacks"]);
  daemons.push(daemon);
  return daemon;
};

const page = readFileSync(join(repositoryRoot, "docs/webhooks.md"), "utf8");

/** Runs a block of the page as it stands there, but for what it says to put in. */
const runShown = async (beginning: string, puttingIn: Readonly<Record<string, string>>): Promise<string> => {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  let text = blocks.find((block) => block.startsWith(beginning)) ?? "";
  for (const [placeholder, value] of Object.entries({
    ...puttingIn,
    "~/.local/state/social-harness/default": ada,
  })) {
    expect(text).toContain(placeholder);
    text = text.replaceAll(placeholder, value);
  }
  const environment = { PATH: process.env["PATH"], WEBHOOK_SECRET: secret };
  const { stdout } = await promisify(execFile)("sh", ["-ec", text], { cwd: root, env: environment });
  return stdout;
};

/** The names in a JSON text, with those that they stand in. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
};

/** What a host asks with the runtime's token. */
const ask = async (method: string, params: Readonly<Record<string, unknown>>) => {
  const textOf = (name: string): string => readFileSync(join(ada, name), "utf8");
  const { mcpUrl } = JSON.parse(textOf("endpoint.json")) as { readonly mcpUrl: string };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const answer = await fetch(mcpUrl, {
    method: "POST",
    headers: {
      authorization: `Bearer ${textOf("runtime-token")}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(method === "tools/call" ? { "mcp-name": String(params["name"]) } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  const { result, error } = (await answer.json()) as Record<string, Record<string, unknown> | undefined>;
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result as Record<string, unknown>;
};

const send = (text: string) => json("send", "agent:ada-agent", text, "--state", bob);
const takenTexts = (): ReadonlyArray<string> =>
  received.flatMap(({ body, taken }) => {
    const { data } = JSON.parse(body) as {
      readonly data: {
        readonly item: {
          readonly message: { readonly content: ReadonlyArray<{ readonly text: string }> };
        };
      };
    };
    return taken ? [data.item.message.content[0]?.text ?? ""] : [];
  });

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  await runShown("openssl req", {});
  const pem = (name: string): Buffer => readFileSync(join(root, `${name}.pem`));
  receiver.setSecureContext({ key: pem("key"), cert: pem("cert") });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  daemons.push(await startDaemon(bob));
});
afterAll(async () => {
  for (const daemon of daemons) await daemon.stop();
  receiver.close();
});

verifies(
  ["ING-92", "ING-93", "ING-94", "ING-96", "ING-103", "ING-213"],
  "what is sent is received once each, in order, across failures and kills, and leaves the inbox",
  async () => {
    const daemon = await startAda();
    const url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const answer = await runShown("STATE=", {
      "http://127.0.0.1:7431/mcp": daemon.ready["mcpUrl"] as string,
      "https://receiver.example.org/hook": url,
    });
    const { id } = (JSON.parse(answer) as { readonly result: { readonly id: string } }).result;
    await send("one");
    await until("the first is received", () => takenTexts().length === 1);
    const [, head = "", shown = ""] = [...page.matchAll(/^```http\n(.*?)\n\n(.*?)\n```$/gms)].at(-1) ?? [];
    const names = [...head.matchAll(/^([a-z-]+): /gm)].map(([, header]) => header);
    expect(Object.keys(received[0]?.headers ?? {})).toEqual(expect.arrayContaining(names));
    expect(shapeOf(JSON.parse(shown))).toEqual(shapeOf(JSON.parse(received[0]?.body as string)));
    status = 503;
    await send("two");
    await send("three");
    await until("the second was tried", () => received.length >= 2);
    await daemon.stop("SIGKILL");
    await startAda();
    await until("the second is tried again", () => received.length >= 3);
    expect(await json("webhook", "status", "--state", ada)).toMatchObject({
      subscriptionId: id,
      state: "retrying",
      lastError: "http_5xx",
    });
    status = 200;
    expect(await json("webhook", "test", "--state", ada)).toMatchObject({ kind: "passed" });
    await json("webhook", "resume", "--state", ada);
    await until("all are received", () => takenTexts().length === 3);
    expect(takenTexts()).toEqual(["one", "two", "three"]);
    expect(await json("inbox", "--state", ada)).toEqual({ items: [] });

    const bodies = Map.groupBy(received, ({ headers }) => headers["webhook-id"]);
    expect(bodies.size).toBe(3);
    for (const [eventId, attempts] of bodies) {
      expect(new Set(attempts.map(({ body }) => body)).size).toBe(1);
      const read = await ask("tools/call", { name: "read_event", arguments: { eventId } });
      const { data } = JSON.parse(attempts[0]?.body as string) as {
        readonly data: { readonly item: object };
      };
      expect((read["structuredContent"] as { readonly item: object }).item).toEqual(data.item);
    }
    expect(await json("webhook", "revoke", "--state", ada)).toEqual({ kind: "revoked" });
    await send("four");
    const waiting = async () => (await json("inbox", "--state", ada))["items"] as ReadonlyArray<object>;
    while ((await waiting()).length === 0);
    expect(takenTexts()).toHaveLength(3);
  },
  60_000,
);
