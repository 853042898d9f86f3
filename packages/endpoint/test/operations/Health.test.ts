import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Copies from "@social-harness/testkit/network/Copies";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Endpoint, startEndpoint } from "../../src/Endpoint.ts";
import * as Health from "../../src/operations/Health.ts";
import { register } from "../../src/operations/Registration.ts";
import * as Identity from "../../src/state/Identity.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Database from "../../src/store/Database.ts";

/** A whole endpoint on the network, registered before it starts. */
const startOn = async (network: TestNetwork, name: string): Promise<Endpoint> => {
  const stateFolder = StateFolder.open(join(network.folder, name));
  const random = (byteCount: number): Buffer => randomBytes(byteCount);
  const identity = Identity.load(stateFolder) ?? Identity.create(stateFolder, random);
  const db = Database.open(stateFolder.database);
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
  if (db.get("SELECT 1 FROM registration") === undefined) {
    await register(
      {
        db,
        identity,
        registry,
        registryKey: network.registryKey,
        admission: undefined,
        clock: Date.now,
        logger: () => undefined,
      },
      {
        agentName: name as AgentName,
        operationId: OperationId.fromBytes(random(16)),
        principalId: PrincipalId.fromBytes(random(16)),
      },
    );
  }
  registry.close();
  db.close();
  const { registryUrl, registryKey, routerUrl, routerKey } = network;
  const endpoint = await startEndpoint({
    stateFolder,
    configuration: {
      registryUrl,
      registryKey,
      routerUrl,
      routerKey,
      port: 0,
      mode: "trusted-local",
      logLevel: "info",
      contacts: "everyone",
      blocked: [],
    },
    logger: () => undefined,
    clock: Date.now,
    random,
  });
  onTestFinished(() => endpoint.close());
  return endpoint;
};

verifies(
  ["MGT-14", "RUN-72"],
  "an endpoint says that its folder was an old copy, and when that is over",
  async () => {
    const network = await testNetwork();
    const bob = await network.open("bob");
    const endpoint = await startOn(network, "whole");
    await until("it is connected", () => endpoint.health().routerConnected);
    expect(endpoint.health()).toEqual({
      registered: true,
      routerConnected: true,
      routerSince: expect.stringMatching(/Z$/),
      routerTrouble: null,
      routerRefusing: null,
      routerEquivocations: 0,
      storeTrouble: null,
      routerChanged: null,
      conversationsChanging: 0,
      restored: null,
      pendingItems: 0,
      firewall: null,
      webhook: null,
      pendingPosts: 0,
      pendingAddresses: [],
      withdrawingPosts: 0,
      pending: [],
      outboxEnvelopes: 0,
      registryUrl: network.registryUrl,
      routerUrl: network.routerUrl,
      contacts: "everyone",
      blocked: [],
    });
    await bob.send("agent:whole", "one");
    await until("it came", () => endpoint.health().pendingItems === 1);
    await endpoint.close();
    const { database } = StateFolder.at(join(network.folder, "whole"));
    Copies.copy(database, `${database}.copy`);
    const newer = await startOn(network, "whole");
    await bob.send("agent:whole", "two");
    await until("it came", () => newer.health().pendingItems === 2);
    await newer.close();
    await bob.close();
    Copies.copy(`${database}.copy`, database);
    const old = await startOn(network, "whole");
    await until("it is found", () => old.health().restored !== null);
    expect(old.health()).toMatchObject({
      pendingItems: 1,
      restored: {
        at: expect.stringMatching(/Z$/),
        conversations: 1,
        addresses: ["agent:bob"],
        explanation: expect.stringContaining("cannot recover"),
      },
    });
    expect(Health.unreadyCause(old.health())).toBeNull();
    await network.open("bob");
    await until("it has recovered", () => old.health().restored?.conversations === 0);
    await until("it caught up", () => old.health().pendingItems === 2);
    expect(old.health().restored?.explanation).toContain("Every conversation that it knows has recovered");
    expect(old.health().restored?.addresses).toEqual([]);
  },
);

verifies(
  ["HIS-132", "MGT-14"],
  "an endpoint says that its Router went back, and is ready all the same",
  async () => {
    const network = await testNetwork();
    const bob = await network.open("bob");
    const endpoint = await startOn(network, "whole");
    await until("it is connected", () => endpoint.health().routerConnected);
    await bob.send("agent:whole", "one");
    await until("it came", () => endpoint.health().pendingItems === 1);
    await network.router.stop();
    network.router.saveLog("early");
    await network.router.start();
    await bob.send("agent:whole", "two");
    await until("it came", () => endpoint.health().pendingItems === 2);
    await bob.close();
    await network.router.stop();
    network.router.replaceLog("early");
    await network.router.start();
    await until("it is seen", () => endpoint.health().routerChanged !== null);
    expect(endpoint.health()).toMatchObject({
      restored: null,
      routerConnected: true,
      conversationsChanging: 1,
      routerChanged: { reason: "rolled-back", explanation: expect.stringContaining("`social-harness move`") },
    });
    expect(Health.unreadyCause(endpoint.health())).toBeNull();
    await network.open("bob");
    await until("they are in a new round", () => endpoint.health().conversationsChanging === 0);
  },
);
