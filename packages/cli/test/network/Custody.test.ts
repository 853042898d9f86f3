// Files of a network's folder that are lost, old or another network's: what `network start` and its operator's commands say,
// and that they leave everything as it is.

import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Registration from "@social-harness/registry/Registration";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Exposure from "../../src/network/Exposure.ts";
import * as Network from "../../src/network/Network.ts";
import * as NetworkFolder from "../../src/network/NetworkFolder.ts";
import { failureOf, run, runHere, serve, temporaryFolder } from "../Binary.ts";

const { random } = NetworkFolder;

/** Runs `work` beside a network in this process, which ends with it as `network start` does. */
const whileServed = async (
  data: string,
  work: (network: Network.Network, registryKey: string) => Promise<void>,
): Promise<void> => {
  const { folder, keys } = NetworkFolder.openOrCreate(data, false);
  const network = await Network.start(folder, keys, {
    exposure: Exposure.parse({ listen: "127.0.0.1:0" }),
    admission: "open",
    mayBeLost: false,
    logger: () => undefined,
  });
  NetworkFolder.writeReached(folder, network);
  try {
    await work(network, keys.registry.publicKey);
  } finally {
    await network.close();
  }
};

const register = async (url: string, name: string, registryKey: AgentCard["registryKey"]) => {
  const signer = Ed25519.signerFromSeed(random(32));
  const client = makeRegistryClient({ url, registryKey });
  const wish = {
    operationId: OperationId.fromBytes(random(16)),
    principalId: PrincipalId.fromBytes(random(16)),
    agentName: name as AgentName,
    sealingKey: SealingKey.fromBytes(random(32)),
    registryKey,
  };
  const answer = await client.register(Registration.sign(signer, wish), null);
  client.close();
  if (answer.kind !== "registered") throw new Error(answer.kind);
  return answer.agentCard;
};

/** A network that has served, stopped, with agents of these names; each has sent something over the Router. */
const usedNetwork = async (...names: ReadonlyArray<string>): Promise<string> => {
  const data = join(temporaryFolder(), "net");
  const ids: Array<string> = [];
  await whileServed(data, async ({ registryUrl }, registryKey) => {
    for (const name of names) {
      const card = await register(registryUrl, name, registryKey as AgentCard["registryKey"]);
      ids.push(card.agentId);
      copyFileSync(join(data, "registry.sqlite"), join(data, `with-${name}.sqlite`));
    }
  });
  const { database, close } = openSqliteLog(join(data, "router.sqlite"));
  for (const id of ids)
    database.prepare("INSERT INTO router_agent (agent_id, accepted_sends) VALUES (?, 1)").run(id);
  await close();
  return data;
};

const remove = (data: string, ...files: ReadonlyArray<string>): void => {
  for (const file of files)
    for (const end of ["", "-wal", "-shm"]) rmSync(join(data, file + end), { force: true });
};

const contentsOf = (data: string): ReadonlyArray<string> =>
  readdirSync(data)
    .toSorted()
    .map((file) => `${file} ${readFileSync(join(data, file)).toString("base64")}`);

const starting = (data: string) => ["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"];

const refused = async (data: string): Promise<readonly [string, string]> => {
  const ended = await run(starting(data));
  const { reason, message } = failureOf(ended);
  expect(ended.code).toBe(1);
  return [reason, message];
};

verifies("RUN-102", "a folder whose keys are lost is told so and left as it is", async () => {
  const data = await usedNetwork("ada-agent");
  remove(data, "network.json");
  for (const lost of [[], ["router.sqlite"], ["reached.json"]]) {
    remove(data, ...lost);
    const before = contentsOf(data);
    expect((await refused(data))[0]).toBe("network-keys-lost");
    expect(contentsOf(data)).toEqual(before);
  }
  const list = await runHere(["network", "invite", "list", "--data", data, "--json"]);
  expect(failureOf(list).reason).toBe("network-keys-lost");
  const fresh = join(temporaryFolder(), "net");
  await whileServed(fresh, async () => undefined);
  remove(fresh, "network.json", "registry.sqlite", "reached.json");
  expect((await refused(fresh))[0]).toBe("network-keys-lost");
});

verifies(
  "RUN-102",
  "keys of another network than the Registry's log are refused, whoever reads it",
  async () => {
    const data = await usedNetwork("ada-agent");
    const other = await usedNetwork("bob-agent");
    cpSync(join(other, "network.json"), join(data, "network.json"));
    const [reason, message] = await refused(data);
    expect([reason, message]).toEqual([
      "other-network",
      `network.json and registry.sqlite in ${data} belong to different networks`,
    ]);
    const list = await runHere(["network", "invite", "list", "--data", data, "--json"]);
    expect(failureOf(list).reason).toBe("other-network");
  },
);

verifies(
  "RUN-103",
  "a Registry's log that is lost or empty is not replaced unless that is demanded",
  async () => {
    const data = await usedNetwork("ada-agent");
    remove(data, "registry.sqlite");
    const before = contentsOf(data);
    expect(await refused(data)).toEqual([
      "registry-lost",
      expect.stringContaining("registry.sqlite is missing"),
    ]);
    const invite = await runHere(["network", "invite", "create", "--data", data, "--json"]);
    expect(failureOf(invite).reason).toBe("registry-lost");
    expect(contentsOf(data)).toEqual(before);
    openSqliteLog(join(data, "registry.sqlite")).close();
    expect(await refused(data)).toEqual(["registry-lost", expect.stringContaining("the Router knows 1")]);
    const network = await serve([...starting(data), "--registry-lost"]);
    expect(network.ready["forgottenAgents"]).toBe(1);
    expect(await network.stop()).toBe(0);
  },
);

verifies(
  "RUN-104",
  "an old copy of the Registry's log is served, with a word on whom it has forgotten",
  async () => {
    const data = await usedNetwork("ada-agent", "bob-agent", "cyd-agent");
    remove(data, "registry.sqlite");
    cpSync(join(data, "with-ada-agent.sqlite"), join(data, "registry.sqlite"));
    const network = await serve(starting(data));
    expect(network.ready["forgottenAgents"]).toBe(2);
    expect(await network.stop()).toBe(0);
    remove(data, "registry.sqlite");
    cpSync(join(data, "with-cyd-agent.sqlite"), join(data, "registry.sqlite"));
    const whole = await serve(starting(data));
    expect(Object.keys(whole.ready)).not.toContain("forgottenAgents");
    expect(await whole.stop()).toBe(0);
  },
);

verifies("RUN-103", "a lost Router is none of that: it starts as a fresh one", async () => {
  const data = await usedNetwork("ada-agent");
  remove(data, "router.sqlite");
  const network = await serve(starting(data));
  expect(Object.keys(network.ready)).not.toContain("forgottenAgents");
  expect(await network.stop()).toBe(0);
});
