// A clean stop with everything under way that could hold it up, and starts in quick succession.

import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { connect, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { until } from "@social-harness/testkit/network/Until";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Served, serve } from "../Binary.ts";
import { joined, json, network, root, startDaemon } from "../Town.ts";

const [ada, bob, eve] = ["ada", "bob", "eve"].map((name) => join(root, name)) as [string, string, string];
const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const stopMsMax = 5_000;
const sockets: Array<Socket> = [];

/** Takes each challenge, and never answers a delivery. */
let deliveries = 0;
const receiver = createServer({ key, cert }, async (request, response) => {
  const chunks: Array<Buffer> = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { type?: string; challenge?: string };
  if (message.type === "verification") response.end(JSON.stringify({ challenge: message.challenge }));
  else deliveries += 1;
});

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  for (const state of [ada, bob, eve]) await joined(state, `${state.split("/").at(-1)}-agent`);
  const allowed = { addresses: ["127.0.0.1"], certificateAuthority: cert };
  writeFileSync(join(ada, "test-callbacks.json"), JSON.stringify(allowed), { mode: 0o600 });
  const rules = {
    rules: [{ when: { text: "^check" }, verdict: "check" }],
    otherwise: "allow",
    checker: { command: ["/bin/sh", "-c", "echo $$ > checker-pid; sleep 600"] },
  };
  writeFileSync(join(ada, "firewall.json"), JSON.stringify(rules), { mode: 0o600 });
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  receiver.close();
  receiver.closeAllConnections();
});

const startAda = (): Promise<Served> =>
  serve([
    "daemon",
    "--state",
    ada,
    "--port",
    "0",
    "--mode",
    "credentials",
    "--allow-test-callbacks",
    "--json",
  ]);

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
/** One request as bytes, for whoever does not read the answer. */
const requestOf = ({ host }: URL, method: string, params: Readonly<Record<string, unknown>>): string => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  const name = method === "tools/call" ? `mcp-name: ${String(params["name"])}\r\n` : "";
  return `POST /mcp HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: ${method}\r\n${name}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};

const open = async (url: URL): Promise<Socket> => {
  const socket = connect(Number(url.port), "127.0.0.1").on("error", () => undefined);
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
};

const asHost = async ({ ready }: Served, token?: string): Promise<Client> => {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = new Client(
    { name: "host", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(ready["mcpUrl"] as string), { requestInit: { headers } }),
  );
  return client;
};

const subscribe = async ({ ready }: Served): Promise<void> => {
  const url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const params = {
    name: "org.social-harness/inbox.item",
    arguments: {},
    delivery: { mode: "webhook", url, secret },
  };
  const answer = await fetch(ready["mcpUrl"] as string, {
    method: "POST",
    headers: {
      authorization: `Bearer ${readFileSync(join(ada, "runtime-token"), "utf8")}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "events/subscribe",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "events/subscribe",
      params: { ...params, _meta: meta },
    }),
  });
  expect(await answer.json()).toHaveProperty("result");
};

const healthOf = async (state: string) =>
  (await json("status", "--state", state))["health"] as Readonly<Record<string, unknown>>;
const eventually = (condition: () => Promise<boolean>) =>
  expect.poll(condition, { timeout: 30_000 }).toBe(true);

const stopTime = async (daemon: Served): Promise<number> => {
  const started = performance.now();
  expect(await daemon.stop()).toBe(0);
  return performance.now() - started;
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

verifies(
  ["RUN-23", "RUN-149"],
  "streams, a checker, a webhook's call, a waiting send and readers that stand still do not hold up a stop",
  async () => {
    const daemons = [await startAda(), await startDaemon(bob)] as const;
    const [adaDaemon, bobDaemon] = daemons;
    await subscribe(adaDaemon);
    const send = (to: string, text: string) => json("send", `agent:${to}-agent`, text, "--state", bob);
    for (let i = 0; i < 3; i++) await send("ada", `${i} ${"x".repeat(200_000)}`);
    await send("ada", "check this");
    await until(
      "the webhook's call and the checker are under way",
      () =>
        deliveries > 0 &&
        existsSync(join(ada, "checker-pid")) &&
        readFileSync(join(ada, "checker-pid"), "utf8") !== "",
    );
    const checker = Number(readFileSync(join(ada, "checker-pid"), "utf8"));

    const owner = await asHost(adaDaemon, readFileSync(join(ada, "owner-token"), "utf8"));
    await owner.listen({ toolsListChanged: true });
    const bobUrl = new URL(bobDaemon.ready["mcpUrl"] as string);
    const stream = await open(bobUrl);
    const params = { name: "org.social-harness/inbox.pending", arguments: {} };
    stream.write(requestOf(bobUrl, "events/stream", params));
    expect(String((await once(stream, "data"))[0])).toContain("200 OK");
    const stalled = await open(bobUrl);
    stalled.pause();
    const reading = { name: "read_conversation", arguments: { address: "agent:ada-agent" } };
    stalled.write(requestOf(bobUrl, "tools/call", reading).repeat(20));
    const waiting = await asHost(bobDaemon);
    const sent = waiting.callTool({
      name: "send_message",
      arguments: { input: { to: "agent:eve-agent", text: "nobody is there" } },
    });
    await eventually(async () => (await healthOf(bob))["pendingPosts"] === 1);

    const times = await Promise.all(daemons.map(stopTime));
    for (const time of times) expect(time).toBeLessThan(stopMsMax);
    // Whoever waited was answered, and nobody was left behind.
    expect((await sent).structuredContent).toMatchObject({ status: "pending" });
    expect(isAlive(checker)).toBe(false);
    await Promise.allSettled([owner.close(), waiting.close()]);

    const [adaAgain, bobAgain, eveDaemon] = [
      await startAda(),
      await startDaemon(bob),
      await startDaemon(eve),
    ];
    await until("the delivery is tried again", () => deliveries > 1);
    expect(await healthOf(ada)).toMatchObject({ pendingItems: 3, firewall: { queuedItems: 1 } });
    await eventually(
      async () => ((await json("inbox", "--state", eve))["items"] as ReadonlyArray<object>).length === 1,
    );
    for (const daemon of [adaAgain, bobAgain, eveDaemon])
      expect(await stopTime(daemon)).toBeLessThan(stopMsMax);
  },
  120_000,
);

verifies(
  "RUN-149",
  "neither does a network that stands still",
  async () => {
    const daemon = await startDaemon(eve);
    await eventually(async () => (await healthOf(eve))["routerConnected"] === true);
    process.kill(network.pid, "SIGSTOP");
    try {
      const host = await asHost(daemon);
      const asking = host
        .callTool({ name: "search_agents", arguments: { agentName: "ada-agent" } })
        .catch((error: unknown) => error);
      const time = await stopTime(daemon);
      expect(time).toBeLessThan(stopMsMax);
      await asking;
      await host.close().catch(() => undefined);
    } finally {
      process.kill(network.pid, "SIGCONT");
    }
  },
  60_000,
);
