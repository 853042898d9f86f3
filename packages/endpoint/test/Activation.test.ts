// Activation inside a whole endpoint, with the protocol's coming up held or broken from outside: what hosts see meanwhile, and
// what the next call or the next start makes of it.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { testNetwork, temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished, vi } from "vitest";
import type * as ActiveAgent from "../src/conversations/ActiveAgent.ts";
import { type Endpoint, startEndpoint } from "../src/Endpoint.ts";
import * as Configuration from "../src/state/Configuration.ts";
import * as Identity from "../src/state/Identity.ts";
import * as StateFolder from "../src/state/StateFolder.ts";
import { StoreError } from "../src/store/StoreError.ts";
import * as RawHttp from "./mcp/RawHttp.ts";
import { asking } from "./operations/LifeBench.ts";

/** What the next activation waits for, and how it then ends. */
const activation = vi.hoisted(() => ({
  before: (): Promise<void> => Promise.resolve(),
}));

vi.mock("../src/conversations/ActiveAgent.ts", async (importOriginal) => {
  const actual = await importOriginal<typeof ActiveAgent>();
  return {
    ...actual,
    startActiveAgent: async (...args: Parameters<typeof actual.startActiveAgent>) => {
      await activation.before();
      return actual.startActiveAgent(...args);
    },
  };
});

const random = (byteCount: number): Buffer => randomBytes(byteCount);

const openFolder = async () => {
  const network = await testNetwork();
  const stateFolder = StateFolder.open(join(temporaryFolder(), "state"));
  Identity.create(stateFolder, random);
  const { registryUrl, registryKey, routerUrl, routerKey } = network;
  const configuration = Configuration.resolve({
    flags: { registryUrl, registryKey, routerUrl, routerKey, port: 0, logLevel: "error" },
  });
  return async (): Promise<Endpoint> => {
    const endpoint = await startEndpoint({
      stateFolder,
      configuration,
      logger: () => undefined,
      clock: Date.now,
      random,
    });
    onTestFinished(() => endpoint.close());
    return endpoint;
  };
};

const portOf = ({ mcpUrl }: Endpoint): number => Number(new URL(mcpUrl).port);

const call = async (endpoint: Endpoint, name: string, args: object = {}) => {
  const { result = {}, error } = (await RawHttp.callTool(portOf(endpoint), name, args)).body;
  return error === undefined ? result["structuredContent"] : error.data;
};

const toolsOf = async (endpoint: Endpoint): Promise<ReadonlyArray<string>> => {
  const { result = {} } = (await RawHttp.rpc(portOf(endpoint), "tools/list")).body;
  return (result["tools"] as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name);
};

const before = ["register", "status"];

verifies(
  ["MGT-24", "MGT-104", "MGT-106"],
  "a whole endpoint shows its card while its protocol comes up, and its tools to listeners when it is up",
  async () => {
    const endpoint = await (await openFolder())();
    const listening = await RawHttp.stream(portOf(endpoint), "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    expect((await listening.next())?.method).toBe("notifications/subscriptions/acknowledged");
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    let begun = false;
    activation.before = () => {
      begun = true;
      return held.promise;
    };
    let answered = false;
    const registering = call(endpoint, "register", asking("ada-agent")).finally(() => (answered = true));
    await until("the protocol comes up", () => begun);
    const status = await call(endpoint, "status");
    expect(status).toMatchObject({ kind: "active", agentCard: { agentName: "ada-agent" } });
    expect(await toolsOf(endpoint)).toEqual(before);
    expect(endpoint.health().registered).toBe(false);
    expect(answered).toBe(false);
    held.resolve();
    expect(await registering).toEqual({ ...(status as object), kind: "registered" });
    expect((await listening.next())?.method).toBe("notifications/tools/list_changed");
    expect(await toolsOf(endpoint)).toContain("send_message");
    listening.leave();
  },
);

verifies(
  "MGT-105",
  "a whole endpoint whose activation fails is tried again by the same call, and by its next start",
  async () => {
    const start = await openFolder();
    const endpoint = await start();
    const full = (): Promise<never> =>
      Promise.reject(new StoreError("unavailable", "the disk is full", "make room"));
    activation.before = full;
    expect(await call(endpoint, "register", asking("ada-agent"))).toEqual({ reason: "persistence-failed" });
    const status = await call(endpoint, "status");
    expect(status).toMatchObject({ kind: "active" });
    expect(await toolsOf(endpoint)).toEqual(before);
    activation.before = () => Promise.resolve();
    expect(await call(endpoint, "register", asking("ada-agent"))).toMatchObject({ kind: "registered" });
    expect(await toolsOf(endpoint)).toContain("send_message");
    await endpoint.close();

    // A start that cannot activate says so and lets go of everything; the one after it is as if nothing had been.
    activation.before = full;
    await expect(start()).rejects.toThrow("the disk is full");
    activation.before = () => Promise.resolve();
    const again = await start();
    expect(await call(again, "status")).toEqual(status);
    expect(await toolsOf(again)).toContain("send_message");
  },
);
