// One busy run at the level debug with a canary in every place that holds a secret or a content, and a look into everything that
// the programs leave behind: logs, what they print, measurements, traces, the list of processes.

import { execFileSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, run, runHere, start, temporaryFolder } from "../Binary.ts";

const root = temporaryFolder();
const [data, ada, bob] = ["net", "ada", "bob"].map((name) => join(root, name)) as [string, string, string];
const textOf = (...path: ReadonlyArray<string>): string => readFileSync(join(...path), "utf8");

const post = "canary-of-a-post-text";
const held = "canary-of-a-held-text";
const guidance = "canary-of-guidance";
const idempotencyKey = "canary-of-an-idempotency-key";
const checkerToken = "canary-of-a-checker-token-canary";
const callbackPath = "/canary-of-a-callback-path?canary-of-a-query";
const secret = `whsec_${Buffer.from("canary-of-a-webhook-secret-32-bt").toString("base64")}`;
const exporterKey = "canary-of-an-exporter-key";
const guess = "canary-of-a-guessed-token-canary-of-a-guess";

/** Everything that the programs print and send to where an operator reads. */
const left: Array<string> = [];
const children: Array<ChildProcess> = [];
const traces = createPlainServer(async (request, response) => {
  for await (const chunk of request as AsyncIterable<Buffer>) left.push(chunk.toString("utf8"));
  response.end("{}");
});
let [deliveries, checks] = [0, 0];
/** Passes challenges; deliveries meet an error first, then a receipt. */
const receiver = createServer({ key, cert }, async (request, response) => {
  const chunks: Array<Buffer> = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { type?: string; challenge?: string };
  if (message.type === "verification")
    return void response.end(JSON.stringify({ challenge: message.challenge }));
  deliveries += 1;
  if (deliveries === 1) return void response.destroy();
  response.writeHead(deliveries === 2 ? 500 : 200).end(`${post} ${secret}`);
});
/** A checker that answers nonsense with whatever it was shown. */
const checker = createPlainServer(async (request, response) => {
  checks += 1;
  for await (const chunk of request as AsyncIterable<Buffer>) response.write(chunk);
  response.end(held);
});
const servers = [traces, receiver, checker];
const portOf = (server: { readonly address: () => unknown }): number =>
  (server.address() as AddressInfo).port;

beforeAll(async () => {
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

/** A command that serves; what it prints is kept. Resolves with the JSON of its first line. */
const serving = async (...words: ReadonlyArray<string>) => {
  const child = start([...words, "--json"], {
    env: {
      NODE_DEBUG: "social-harness",
      SOCIAL_HARNESS_LOG_LEVEL: "debug",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${portOf(traces)}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${exporterKey}`,
      OTEL_BSP_SCHEDULE_DELAY: "100",
    },
  });
  children.push(child);
  let first = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (first += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => left.push(text));
  await until("it is ready", () => first.includes("\n"));
  return {
    ready: JSON.parse(first.split("\n")[0] as string) as Record<string, string>,
    stop: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await once(child, "exit");
    },
  };
};

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ask = async (
  state: string,
  token: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
) => {
  const { mcpUrl } = JSON.parse(textOf(state, "endpoint.json")) as { readonly mcpUrl: string };
  const answer = await fetch(mcpUrl, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(method === "tools/call" ? { "mcp-name": String(params["name"]) } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  return { status: answer.status, text: await answer.text() };
};

const startAda = () =>
  serving("daemon", "--state", ada, "--port", "0", "--mode", "credentials", "--allow-test-callbacks");

verifies(
  "RUN-156",
  "C76: after a busy run at the level debug no secret and no content is in anything that is left behind",
  async () => {
    const network = await serving("network", "start", "--data", data, "--listen", "127.0.0.1:0");
    const { invite } = lastJson(
      await runHere(["network", "invite", "create", "--data", data, "--uses", "2", "--json"]),
    );
    for (const [state, name] of [
      [ada, "ada-agent"],
      [bob, "bob-agent"],
    ] as const)
      await runHere(["join", invite as string, "--name", name, "--state", state]);
    const allowed = { addresses: ["127.0.0.1"], certificateAuthority: cert };
    writeFileSync(join(ada, "test-callbacks.json"), JSON.stringify(allowed), { mode: 0o600 });
    const rules = {
      rules: [
        { when: { text: "held-text" }, verdict: "hold", explanation: guidance },
        { when: { text: "checked" }, verdict: "check" },
        { when: { text: "guided" }, verdict: "allow", guidance },
      ],
      otherwise: "allow",
      checker: { url: `http://127.0.0.1:${portOf(checker)}${callbackPath}`, token: checkerToken },
    };
    writeFileSync(join(ada, "firewall.json"), JSON.stringify(rules), { mode: 0o600 });
    let adaDaemon = await startAda();
    const bobDaemon = await serving("daemon", "--state", bob, "--port", "0");
    const tokens = [
      textOf(ada, "owner-token"),
      textOf(ada, "runtime-token"),
      textOf(bob, "owner-token"),
      textOf(data, "metrics-token"),
      textOf(ada, "metrics-token"),
      textOf(bob, "metrics-token"),
    ];
    const [owner, runtime] = tokens as [string, string];

    const url = `https://127.0.0.1:${portOf(receiver)}${callbackPath}`;
    const delivery = { mode: "webhook", url, secret };
    const subscription = { name: "org.social-harness/inbox.item", arguments: {}, delivery };
    const subscribed = await ask(ada, runtime, "events/subscribe", subscription);
    expect([subscribed.status, subscribed.text.includes("refreshBefore")]).toEqual([200, true]);
    const send = (text: string) =>
      run(["send", "agent:ada-agent", text, "--state", bob, "--key", `${idempotencyKey}-${text}`, "--json"], {
        env: { NODE_DEBUG: "social-harness" },
      });
    for (const text of [`${post} one`, held, `checked ${post}`, `guided ${post}`]) {
      const sent = await send(text);
      expect([sent.code, lastJson(sent)["status"]]).toEqual([0, "certified"]);
      left.push(sent.stdout, sent.stderr);
    }
    await until("deliveries and checks were tried", () => deliveries >= 3 && checks >= 2);

    // Every way in with something wrong about it, and a death in the middle.
    for (const token of [guess, owner, runtime]) {
      await ask(ada, token, "tools/call", { name: post, arguments: { [post]: secret } });
      await ask(ada, token, "tools/call", {
        name: "send_message",
        arguments: { input: { to: post, text: post } },
      });
      await ask(ada, token, "events/subscribe", { ...subscription, delivery: { ...delivery, secret: post } });
      await ask(ada, token, "events/subscribe", {
        ...subscription,
        delivery: { ...delivery, url: `http://${post}` },
      });
      await ask(ada, token, post, { [post]: held });
    }
    const processes = (): void => void left.push(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }));
    processes();
    await adaDaemon.stop("SIGKILL");
    adaDaemon = await startAda();
    processes();
    writeFileSync(
      join(ada, "firewall.json"),
      `{"rules": [{"when": {"text": "${held}("}, "verdict": "hold"}]}`,
    );
    writeFileSync(join(ada, "runtime-token"), `${runtime}\n`);
    await ask(ada, runtime, "server/discover", {});
    await until("the broken rules were seen", () =>
      textOf(ada, "logs", "endpoint.log").includes("firewall.json cannot"),
    );
    await adaDaemon.stop("SIGKILL");
    writeFileSync(join(ada, "runtime-token"), runtime);
    adaDaemon = await startAda();

    const pages: ReadonlyArray<readonly [string, string]> = [
      [new URL("/metrics", adaDaemon.ready["mcpUrl"]).href, owner],
      [new URL("/readyz", adaDaemon.ready["mcpUrl"]).href, owner],
      [new URL("/metrics", adaDaemon.ready["mcpUrl"]).href, tokens[4] as string],
      [new URL("/readyz", adaDaemon.ready["mcpUrl"]).href, tokens[4] as string],
      [`${network.ready["registryUrl"]}/metrics`, tokens[3] as string],
      [`${network.ready["routerUrl"]?.replace("ws:", "http:")}/metrics`, tokens[3] as string],
    ];
    for (const [page, token] of pages) {
      const look = () => fetch(page, { headers: { authorization: `Bearer ${token}` } });
      // The daemon has just begun: it may still be on its way to the Router.
      await expect.poll(async () => (await look()).status, { timeout: 30_000 }).toBe(200);
      const answer = await look();
      left.push(await answer.text());
    }
    for (const words of [
      ["status"],
      ["logs"],
      ["config", "check"],
      ["webhook", "status"],
      ["webhook", "attempts"],
    ]) {
      for (const form of [[], ["--json"]]) {
        const shown = await runHere([...words, "--state", ada, ...form]);
        left.push(shown.stdout, shown.stderr);
      }
    }
    for (const served of [adaDaemon, bobDaemon, network]) await served.stop("SIGTERM");
    for (const state of [ada, bob])
      for (const name of readdirSync(join(state, "logs"))) left.push(textOf(state, "logs", name));
    // A crash would have left a report or a core behind, where it was started.
    for (const folder of [root, data, ada, bob, process.cwd()])
      expect(readdirSync(folder).filter((name) => /^(report\.|core(\.|$))/.test(name))).toEqual([]);

    const everything = left.join("\n");
    expect(everything).toContain('"endpoint ready"');
    expect(everything).toContain("tools/call send_message");
    const seeds = [ada, bob].map((state) => join(state, "identity.json")).concat(join(data, "network.json"));
    const privateKeys = seeds.filter(existsSync).flatMap((path) => {
      const file = JSON.parse(textOf(path)) as Readonly<Record<string, unknown>>;
      return Object.entries(file).flatMap(([name, value]) => (name.endsWith("Seed") ? [String(value)] : []));
    });
    expect(privateKeys).toHaveLength(6);
    const admission = (JSON.parse(textOf(ada, "config.json")) as { readonly admission?: string }).admission;
    const secrets = [
      ...tokens,
      ...privateKeys,
      ...(admission === undefined ? [] : [admission]),
      secret,
      secret.slice("whsec_".length),
      "canary-of",
    ];
    // The list of processes is the machine's: another run of this test may be sending at this moment.
    const looked = everything
      .split("\n")
      .filter((line) => !/ send agent:ada-agent /.test(line))
      .join("\n");
    for (const one of secrets) {
      const at = looked.indexOf(one);
      expect(at === -1 ? null : looked.slice(Math.max(0, at - 200), at + one.length + 50)).toBeNull();
    }
  },
  180_000,
);
