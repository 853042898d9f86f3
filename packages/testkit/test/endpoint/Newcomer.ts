// An endpoint that nobody has registered yet, whole and in this process, with its keys, its folder and the official MCP
// client in front of it. Reaches its Registry through a gate that a test can shut.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { startEndpoint } from "@social-harness/endpoint/Endpoint";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import type { Reached } from "@social-harness/testkit/network/Network";
import { onTestFinished } from "vitest";

export type Answer = Readonly<Record<string, unknown>>;

export interface Newcomer {
  /** The structured result; rejects with the JSON-RPC error. */
  readonly call: (tool: string, input?: object, signal?: AbortSignal) => Promise<Answer>;
  readonly tools: () => Promise<ReadonlyArray<string>>;
  /** Closes the endpoint and starts it again on its folder. */
  readonly restart: () => Promise<void>;
}

const random = (byteCount: number): Buffer => randomBytes(byteCount);

/** The arguments of a `register` call: one operation, one principal. */
export const registration = (agentName: string) => ({
  operationId: OperationId.fromBytes(random(16)),
  principalId: PrincipalId.fromBytes(random(16)),
  agentName,
});

export const startNewcomer = async (
  folder: string,
  label: string,
  network: Reached,
  registryUrl: string,
): Promise<Newcomer> => {
  const stateFolder = StateFolder.open(join(folder, label));
  Identity.create(stateFolder, random);
  const { registryKey, routerUrl, routerKey } = network;
  const configuration = Configuration.resolve({
    flags: { registryUrl, registryKey, routerUrl, routerKey, port: 0, logLevel: "error" },
  });
  const open = async () => {
    const endpoint = await startEndpoint({
      stateFolder,
      configuration,
      logger: () => undefined,
      clock: Date.now,
      random,
    });
    const client = new Client(
      { name: "newcomer", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint.mcpUrl)));
    return { client, endpoint };
  };
  let life = await open();
  const close = async (): Promise<void> => {
    await life.client.close();
    await life.endpoint.close();
  };
  onTestFinished(close);
  return {
    call: async (name, input = {}, signal) => {
      const options = signal === undefined ? {} : { signal };
      const result = await life.client.callTool({ name, arguments: { ...input } }, options);
      return result.structuredContent as Answer;
    },
    tools: async () => (await life.client.listTools()).tools.map(({ name }) => name),
    restart: async () => {
      await close();
      life = await open();
    },
  };
};
