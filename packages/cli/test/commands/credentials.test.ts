// Two endpoints in credentials mode: their owners at the command line, and the hosts that hold the runtime's tokens.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect } from "vitest";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, run, runHere, serve, type Served } from "../Binary.ts";
import { freshInvite, joined, json, refusal, root } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const daemons: Array<Served> = [];

const textOf = (state: string, name: string): string => readFileSync(join(state, name), "utf8");
const tokensOf = (state: string): ReadonlyArray<string> => [
  textOf(state, "owner-token"),
  textOf(state, "runtime-token"),
];

const startDaemon = async (state: string, ...more: ReadonlyArray<string>): Promise<Served> => {
  const words = ["--port", "0", "--log-level", "debug", "--json", ...more];
  const daemon = await serve(["daemon", "--state", state, ...words]);
  daemons.push(daemon);
  return daemon;
};

const host = async (state: string, onChange: () => void = () => {}): Promise<Client> => {
  const client = new Client(
    { name: "host", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  client.setNotificationHandler("notifications/tools/list_changed", onChange);
  const { mcpUrl } = JSON.parse(textOf(state, "endpoint.json")) as { readonly mcpUrl: string };
  const headers = { authorization: `Bearer ${textOf(state, "runtime-token")}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit: { headers } }));
  return client;
};
const toolsOf = async (client: Client): Promise<ReadonlyArray<string>> =>
  (await client.listTools()).tools.map(({ name }) => name);

interface Inbox {
  readonly items: ReadonlyArray<{ readonly deliveryToken: string; readonly item: object }>;
}
const inboxOf = async (state: string): Promise<Inbox> =>
  (await json("inbox", "--state", state)) as unknown as Inbox;
const firstItem = async (state: string) => {
  for (;;) {
    const { items } = await inboxOf(state);
    if (items[0] !== undefined) return items[0];
    await sleep(20);
  }
};

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  await startDaemon(ada, "--mode", "credentials");
  await startDaemon(bob, "--mode", "credentials");
});
afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

describe("in credentials mode", () => {
  verifies(
    "RUN-32",
    "the daemon makes both tokens and says its mode wherever it says where it is",
    async () => {
      expect(new Set(tokensOf(ada)).size).toBe(2);
      const ready = daemons[0]?.ready;
      expect(ready).toMatchObject({ mode: "credentials" });
      expect(JSON.parse(textOf(ada, "endpoint.json"))).toMatchObject({
        pid: ready?.["pid"],
        mcpUrl: ready?.["mcpUrl"],
        mode: "credentials",
      });
      expect(await json("status", "--state", ada)).toMatchObject({ kind: "active", mode: "credentials" });
      const words = await runHere(["status", "--state", ada]);
      expect(words.stdout).toContain(`MCP at ${String(ready?.["mcpUrl"])}, mode credentials`);
    },
  );

  verifies("RUN-33", "every command works, by the owner's token", async () => {
    const sent = await json("send", "agent:bob-agent", "Tuesday?", "--state", ada);
    expect(sent).toMatchObject({ status: "certified" });
    const { deliveryToken } = await firstItem(bob);
    expect(await json("ack", deliveryToken, "--state", bob)).toEqual({});
    expect(await json("inbox", "--state", bob)).toEqual({ items: [] });
    expect(await json("agents", "--name", "bob-agent", "--state", ada)).toMatchObject({ kind: "found" });
    expect(await json("history", "--state", ada)).toMatchObject({ addresses: ["agent:bob-agent"] });
    expect(await json("history", "agent:bob-agent", "--state", ada)).toMatchObject({ kind: "page" });
    expect(await json("evidence", "--state", ada)).toMatchObject({ equivocations: [] });
    expect(await json("round", "wish", "agent:bob-agent", "--state", ada)).toMatchObject({ kind: "wished" });
    const output = join(root, "talk.jsonl");
    await json("export", "agent:bob-agent", "--state", ada, "--output", output);
    expect(readFileSync(output, "utf8")).toContain("Tuesday?");
    const withdrawn = await runHere(["withdraw", sent["postId"] as string, "--state", ada, "--json"]);
    expect(withdrawn.stdout + withdrawn.stderr).toContain("certified");
  });

  verifies(["MGT-72", "MGT-73"], "a host with the runtime's token talks, and does nothing else", async () => {
    const [adaHost, bobHost] = [await host(ada), await host(bob)];
    expect(await toolsOf(adaHost)).toEqual(["send_message", "read_event", "search_agents"]);
    const found = await adaHost.callTool({ name: "search_agents", arguments: { agentName: "bob-agent" } });
    expect(found.structuredContent).toMatchObject({ kind: "found" });
    const input = { to: "agent:bob-agent", text: "from one model to another" };
    const sent = await adaHost.callTool({ name: "send_message", arguments: { input } });
    expect(sent.structuredContent).toMatchObject({ status: "certified" });
    const { deliveryToken, item } = await firstItem(bob);
    const eventId = deliveryToken.replace("dlv_", "evt_");
    const read = await bobHost.callTool({ name: "read_event", arguments: { eventId } });
    expect(read.structuredContent).toEqual({ item });
    for (const [name, args] of [
      ["read_conversation", { address: "agent:ada-agent" }],
      ["search_conversations", {}],
      ["read_inbox", {}],
      ["acknowledge_delivery", { deliveryToken }],
      ["status", {}],
      ["event_subscription_status", {}],
    ] as const) {
      await expect(bobHost.callTool({ name, arguments: args })).rejects.toMatchObject({
        message: expect.stringContaining("Unknown tool.") as string,
      });
    }
    expect(await firstItem(bob)).toMatchObject({ deliveryToken });
    await json("ack", deliveryToken, "--state", bob);
    await adaHost.close();
    await bobHost.close();
  });

  verifies(["RUN-11", "MGT-25"], "a host that listens learns that its owner has joined", async () => {
    const state = join(root, "eve");
    const invite = await freshInvite();
    await json("init", invite, "--state", state);
    await startDaemon(state, "--mode", "credentials");
    const changed = Promise.withResolvers<void>();
    const client = await host(state, changed.resolve);
    expect(await toolsOf(client)).toEqual([]);
    const subscription = await client.listen({ toolsListChanged: true });
    expect(await joined(state, "eve-agent", invite)).toMatchObject({ kind: "registered" });
    await changed.promise;
    expect(await toolsOf(client)).toEqual(["send_message", "read_event", "search_agents"]);
    await subscription.close();
    await client.close();
  });

  verifies("RUN-33", "a new token of the owner's is used at once", async () => {
    const former = textOf(ada, "owner-token");
    await json("send", "agent:ada-agent", "before", "--state", bob);
    const following = await serve(["inbox", "--follow", "--state", ada, "--json"]);
    expect(JSON.stringify(following.ready)).toContain("before");
    PrivateFile.replace(join(ada, "owner-token"), "a-new-token-of-the-owner-a-new-token-of-the-owner");
    expect(await json("status", "--state", ada)).toMatchObject({ kind: "active" });
    // Who is at it already goes on as well.
    await json("send", "agent:ada-agent", "after", "--state", bob);
    await expect.poll(() => following.lines.join(), { timeout: 20_000 }).toContain("after");
    expect(await following.stop()).toBe(0);
    for (let { items } = await inboxOf(ada); items.length > 0; { items } = await inboxOf(ada)) {
      for (const { deliveryToken } of items) await json("ack", deliveryToken, "--state", ada);
    }
    writeFileSync(join(ada, "owner-token"), former);
    expect(await json("status", "--state", ada)).toMatchObject({ kind: "active" });
  });

  verifies("RUN-33", "a token that cannot be used is a failure that says what to do", async () => {
    const owner = join(ada, "owner-token");
    chmodSync(owner, 0o644);
    const loose = await runHere(["status", "--state", ada]);
    expect([loose.code, loose.stderr]).toEqual([1, expect.stringContaining(`chmod go= ${owner}`)]);
    chmodSync(owner, 0o600);
    const [own, runtime] = tokensOf(ada) as [string, string];
    writeFileSync(owner, runtime);
    expect(await refusal("inbox", "--state", ada)).toEqual([1, "state-malformed"]);
    writeFileSync(owner, own);
    expect(await json("inbox", "--state", ada)).toEqual({ items: [] });
  });

  verifies("RUN-33", "the daemon of another folder is told from a daemon that is gone", async () => {
    const copy = join(root, "copy");
    cpSync(ada, copy, { recursive: true });
    for (const name of ["owner-token", "runtime-token"]) rmSync(join(copy, name));
    writeFileSync(join(copy, "owner-token"), "of-nobody-of-nobody-of-nobody-of-nobody", { mode: 0o600 });
    for (const words of [["status"], ["inbox"], ["evidence"], ["send", "agent:bob-agent", "hello"]]) {
      const refused = () => refusal(...words, "--state", copy);
      // Nobody holds the copy. Without its lock nobody can tell, and the daemon proves itself to whoever copied it.
      expect([words[0], await refused()]).toEqual([words[0], [3, "daemon-not-running"]]);
      renameSync(join(copy, "lock"), join(copy, "lock.away"));
      expect([words[0], await refused()]).toEqual([words[0], [1, "foreign-daemon"]]);
      renameSync(join(copy, "lock.away"), join(copy, "lock"));
    }
  });

  verifies(
    "MGT-79",
    "C76: no token is in a log, in what is printed or in the list of processes",
    async () => {
      const client = await host(ada);
      const sending = run(["send", "agent:bob-agent", "hello", "--state", ada], {
        env: { NODE_DEBUG: "social-harness" },
      });
      let processes = "";
      for (let done = false; !done;) {
        processes += execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
        done = await Promise.race([sending.then(() => true), sleep(50, false)]);
      }
      await client.close();
      const { stdout, stderr } = await sending;
      const logs = [ada, bob].flatMap((state) =>
        readdirSync(join(state, "logs")).map((name) => textOf(join(state, "logs"), name)),
      );
      expect(processes).toContain("send agent:bob-agent hello");
      for (const token of [...tokensOf(ada), ...tokensOf(bob)]) {
        for (const text of [processes, stdout, stderr, ...logs]) expect(text).not.toContain(token);
      }
    },
  );
});

verifies(
  "RUN-32",
  "the mode of config.json or of the environment counts, and a flag before both",
  async () => {
    const state = join(root, "fay");
    await joined(state, "fay-agent");
    const configuration = JSON.parse(textOf(state, "config.json")) as object;
    writeFileSync(join(state, "config.json"), JSON.stringify({ ...configuration, mode: "credentials" }));
    // Also the short-lived endpoint of `join` keeps to it.
    expect(await joined(state, "fay-agent")).toMatchObject({ kind: "registered" });
    expect(new Set(tokensOf(state)).size).toBe(2);
    const fromFile = await startDaemon(state);
    expect(fromFile.ready).toMatchObject({ mode: "credentials" });
    expect(await json("status", "--state", state)).toMatchObject({ mode: "credentials" });
    await fromFile.stop();
    const fromFlag = await startDaemon(state, "--mode", "trusted-local");
    expect(fromFlag.ready).toMatchObject({ mode: "trusted-local" });
    expect(await json("status", "--state", state)).toMatchObject({ mode: "trusted-local" });
    await fromFlag.stop();
    rmSync(join(state, "runtime-token"));
    const env = { SOCIAL_HARNESS_MODE: "credentials" };
    const again = lastJson(
      await run(["join", await freshInvite(), "--name", "fay-agent", "--state", state, "--json"], { env }),
    );
    expect(again).toMatchObject({ kind: "registered" });
    expect(new Set(tokensOf(state)).size).toBe(2);
    expect(await refusal("daemon", "--state", state, "--mode", "open")).toEqual([2, "configuration-invalid"]);
  },
);

verifies(
  "RUN-04",
  "the help of `daemon` says what the modes are and where a host's token is told",
  async () => {
    const { stdout } = await runHere(["daemon", "--help"]);
    expect(stdout).toContain("--mode credentials");
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("runtime-token");
  },
);
