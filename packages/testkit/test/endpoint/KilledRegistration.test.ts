// A daemon that is killed in the middle of its registration, as users run it: in a process of its own, by SIGKILL, with the
// Registry before, behind or past its decision. Asked the same again, it is the same agent.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { type Answer, registration } from "./Newcomer.ts";
import { type RegistryGate, startRegistryGate } from "./RegistryGate.ts";

const binary = fileURLToPath(new URL("../../../cli/bin/social-harness.js", import.meta.url));

interface Life {
  readonly call: (tool: string, input?: object) => Promise<Answer>;
  readonly tools: () => Promise<ReadonlyArray<string>>;
  readonly kill: () => Promise<void>;
}

const killed = async (daemon: ChildProcess): Promise<void> => {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const gone = once(daemon, "exit");
  daemon.kill("SIGKILL");
  await gone;
};

/** A state folder with keys, and a daemon on it as often as it is started. */
const openDaemon = async () => {
  const network = await testNetwork();
  const gate: RegistryGate = await startRegistryGate(network.registryUrl);
  onTestFinished(gate.close);
  const state = join(network.folder, "ada");
  await promisify(execFile)(process.execPath, [binary, "init", "--state", state]);
  const folder = StateFolder.at(state);
  const settings = {
    "--state": state,
    "--port": "0",
    "--registry-url": gate.url,
    "--registry-key": network.registryKey,
    "--router-url": network.routerUrl,
    "--router-key": network.routerKey,
  };
  const start = async (): Promise<Life> => {
    EndpointFile.remove(folder);
    const daemon = spawn(process.execPath, [binary, "daemon", ...Object.entries(settings).flat()], {
      stdio: "ignore",
    });
    onTestFinished(() => killed(daemon));
    await until("the daemon is ready", () => existsSync(folder.endpoint));
    const client = new Client(
      { name: "host", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(EndpointFile.read(folder)?.mcpUrl as string)),
    );
    return {
      call: async (name, input = {}) =>
        (await client.callTool({ name, arguments: { ...input } })).structuredContent as Answer,
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      kill: () => killed(daemon),
    };
  };
  return { network, gate, start };
};

verifies(
  ["MGT-21", "MGT-103"],
  "a daemon killed before, between and after the Registry's answer and its binding is the same agent when it asks again",
  async () => {
    const { network, gate, start } = await openDaemon();
    const asked = registration("ada-agent");
    const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
    onTestFinished(registry.close);

    const first = await start();
    gate.shut();
    const unheard = first.call("register", asked).catch(() => "lost");
    await gate.untilKnocked();
    await first.kill();
    expect(await unheard).toBe("lost");
    expect(await registry.lookupByName(asked.agentName as never)).toBeNull();

    const second = await start();
    gate.open();
    gate.holdAnswers();
    expect(await second.call("status")).toEqual({ kind: "unregistered" });
    const unbound = second.call("register", asked).catch(() => "lost");
    await gate.untilAnswered();
    await second.kill();
    expect(await unbound).toBe("lost");

    const third = await start();
    gate.open();
    const agentCard = await registry.lookupByName(asked.agentName as never);
    expect(agentCard).not.toBeNull();
    expect(await third.call("status")).toEqual({ kind: "unregistered" });
    expect(await third.tools()).toEqual(["register", "status"]);
    expect(await third.call("register", { ...asked, agentName: "ada-again" })).toEqual({
      kind: "idempotency_conflict",
    });
    expect(await third.call("register", asked)).toEqual({ kind: "registered", agentCard });
    await third.kill();

    const fourth = await start();
    expect(await fourth.call("status")).toEqual({ kind: "active", agentCard });
    expect((await fourth.tools()).includes("send_message")).toBe(true);
  },
);
