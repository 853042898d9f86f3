import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { randomBytes } from "node:crypto";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Endpoint, startEndpoint } from "../../src/Endpoint.ts";
import { register } from "../../src/operations/Registration.ts";
import * as Health from "../../src/operations/Health.ts";
import * as Identity from "../../src/state/Identity.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Database from "../../src/store/Database.ts";

const heldAs = ({ agent }: NetworkAgent): string | null => agent.link.held();

/** Everything that this agent ever signed and put on its way. */
const signedBy = ({ db }: NetworkAgent): unknown => [
  db.get("SELECT count(*) AS votes FROM own_vote"),
  db.get("SELECT max(sequence) AS last FROM outbox"),
  db.get("SELECT CAST(value AS TEXT) AS value FROM setting WHERE name = 'enqueued_sends'"),
];

/** Sends wait, reads work, and nothing new is signed. */
const expectSilent = async (agent: NetworkAgent, address: string, records: number): Promise<void> => {
  const before = signedBy(agent);
  expect((await agent.send(address, "into the void", { waitMs: 150 })).status).toBe("pending");
  expect(await agent.history(address)).toHaveLength(records);
  expect(agent.items()).toBeDefined();
  expect(signedBy(agent)).toEqual(before);
};

const keepStore = (network: TestNetwork, name: string): void =>
  copyFileSync(network.storeOf(name), network.storeOf(`${name}-copy`));

const restoreStore = (network: TestNetwork, name: string): void =>
  copyFileSync(network.storeOf(`${name}-copy`), network.storeOf(name));

verifies(
  "HIS-51",
  "a store that was put back from an old copy remembers less than the Router: it signs nothing and reads on",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const to = `group:${names.join()}`;
    const [ann, bob, cyd] = await network.openAll(names);
    await ann.send("agent:bob", "one");
    await ann.send(to, "all");
    await bob.untilItems(2);
    await ann.close();
    keepStore(network, "ann");
    const newer = await network.open("ann");
    await newer.send("agent:bob", "two");
    await newer.close();
    restoreStore(network, "ann");
    const old = await network.open("ann");
    await until("it is held", () => heldAs(old) === "lost-memory");
    await expectSilent(old, "agent:bob", 1);
    expect((await cyd.send(to, "the others go on")).status).toBe("certified");
    await expectSilent(old, to, 1);
    await old.close();
    const again = await network.open("ann");
    await until("it is held again", () => heldAs(again) === "lost-memory");
    await expectSilent(again, "agent:bob", 1);
    expect(bob.agent.link.held()).toBeNull();
  },
);

verifies(
  "HIS-51",
  "an old copy is known by what the Router saw acknowledged, also when the agent has sent nothing since",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const to = `group:${names.join()}`;
    const [ann, bob, , dan] = await network.openAll(names);
    await ann.send(to, "all");
    await dan.untilItems(1);
    await dan.close();
    keepStore(network, "dan");
    const newer = await network.open("dan");
    await until("it is connected", () => newer.agent.link.connected());
    await newer.close();
    await bob.send(to, "taken by the newer store only");
    const taking = await network.open("dan");
    await taking.untilItems(2);
    await taking.close();
    restoreStore(network, "dan");
    const old = await network.open("dan");
    await until("it is held", () => heldAs(old) === "lost-memory");
    await expectSilent(old, to, 1);
  },
);

verifies(
  "HIS-51",
  "an old copy is known by another Router too, once that one has seen the newer store",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await ann.close();
    keepStore(network, "ann");
    await network.router.stop();
    network.router.replaceLog(null);
    await network.router.start();
    const newer = await network.open("ann");
    await newer.send("agent:bob", "two");
    await newer.close();
    restoreStore(network, "ann");
    const old = await network.open("ann");
    await until("it is held", () => heldAs(old) === "lost-memory");
    await expectSilent(old, "agent:bob", 1);
  },
);

/** A whole endpoint on the network, registered before it starts. */
const startOn = async (network: TestNetwork, name: string): Promise<Endpoint> => {
  const stateFolder = StateFolder.open(join(network.folder, name));
  const random = (byteCount: number): Buffer => randomBytes(byteCount);
  const identity = Identity.load(stateFolder) ?? Identity.create(stateFolder, random);
  const db = Database.open(stateFolder.database);
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
  if (db.get("SELECT 1 FROM registration") === undefined) {
    await register(
      { db, identity, registry, registryKey: network.registryKey, admission: undefined },
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

verifies("HIS-51", "an endpoint says why it signs nothing", async () => {
  const network = await testNetwork();
  const bob = await network.open("bob");
  const endpoint = await startOn(network, "whole");
  await until("it is connected", () => endpoint.health().routerConnected);
  expect(endpoint.health()).toEqual({
    registered: true,
    routerConnected: true,
    routerSince: expect.stringMatching(/Z$/),
    routerTrouble: null,
    routerEquivocations: 0,
    routerChanged: null,
    conversationsChanging: 0,
    held: null,
    pendingItems: 0,
    pendingPosts: 0,
    pendingAddresses: [],
    outboxEnvelopes: 0,
  });
  await bob.send("agent:whole", "one");
  await until("it came", () => endpoint.health().pendingItems === 1);
  await endpoint.close();
  const { database } = StateFolder.at(join(network.folder, "whole"));
  copyFileSync(database, `${database}.copy`);
  const newer = await startOn(network, "whole");
  await bob.send("agent:whole", "two");
  await until("it came", () => newer.health().pendingItems === 2);
  await newer.close();
  copyFileSync(`${database}.copy`, database);
  const old = await startOn(network, "whole");
  await until("it is held", () => old.health().held !== null);
  expect(old.health()).toMatchObject({
    pendingItems: 1,
    held: { reason: "lost-memory", explanation: expect.stringContaining("put the newest copy back") },
  });
});

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
      held: null,
      routerConnected: true,
      conversationsChanging: 1,
      routerChanged: { reason: "rolled-back", explanation: expect.stringContaining("`social-harness move`") },
    });
    expect(Health.isReady(endpoint.health())).toBe(true);
    await network.open("bob");
    await until("they are in a new round", () => endpoint.health().conversationsChanging === 0);
  },
);
