// What a registration says about the store: that it is gone, where its keys are known already, and nothing where an answer was
// lost, at whatever moment the process ended.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient, type RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import { identityOf } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import { register } from "../../src/operations/Registration.ts";
import * as Database from "../../src/store/Database.ts";

const input = {
  operationId: OperationId.fromBytes(randomBytes(16)),
  principalId: PrincipalId.fromBytes(randomBytes(16)),
  agentName: "ada-agent" as AgentName,
};

/** The Registry that acts and whose answer never comes. */
const unheard = (registry: RegistryClient): RegistryClient => ({
  ...registry,
  register: async (...call) => {
    await registry.register(...call);
    throw new RegistryError("unavailable", "the answer was lost");
  },
});

/** The Registry that the process never reaches with its registration. */
const unreached = (registry: RegistryClient): RegistryClient => ({
  ...registry,
  register: () => Promise.reject(new RegistryError("unavailable", "nobody is there")),
});

const scene = async () => {
  const network = await testNetwork();
  const { registryKey, folder } = network;
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey });
  onTestFinished(() => registry.close());
  const identity = identityOf("ada");
  /** Registers with a store that is opened for this alone, as a process would that ends with it. */
  const registerWith = async (store: string, by: RegistryClient, more: Partial<typeof input> = {}) => {
    const db = Database.open(join(folder, store));
    try {
      const lines: Array<string> = [];
      const logger = (_level: string, event: string): void => void lines.push(event);
      const options = {
        db,
        identity,
        registry: by,
        registryKey,
        admission: undefined,
        clock: Date.now,
        logger,
      };
      const kind = await register(options, { ...input, ...more }).then(
        (answer) => answer.kind,
        (error: { readonly reason: string }) => error.reason,
      );
      return { kind, isLost: LostMemory.notedAt(db) !== null, said: lines.length };
    } finally {
      db.close();
    }
  };
  return { registry, registerWith };
};

verifies(
  "HIS-175",
  "a repeated registration whose answer was lost is no loss, also after a kill",
  async () => {
    const { registry, registerWith } = await scene();
    const unavailable = { kind: "dependency-unavailable", isLost: false, said: 0 };
    expect(await registerWith("first.sqlite", unreached(registry))).toEqual(unavailable);
    // The Registry has answered, and nothing is bound when the process ends.
    expect(await registerWith("first.sqlite", unheard(registry))).toEqual(unavailable);
    const renamed = {
      agentName: "ada-again" as AgentName,
      operationId: OperationId.fromBytes(randomBytes(16)),
    };
    expect(await registerWith("first.sqlite", registry, renamed)).toEqual({
      kind: "key_already_registered",
      isLost: false,
      said: 0,
    });
    expect(await registerWith("first.sqlite", registry)).toEqual({
      kind: "registered",
      isLost: false,
      said: 0,
    });
  },
);

verifies(
  "HIS-175",
  "keys that are registered, and a store that never asked for that, are a loss",
  async () => {
    const { registry, registerWith } = await scene();
    expect(await registerWith("first.sqlite", registry)).toMatchObject({ kind: "registered", isLost: false });
    expect(await registerWith("second.sqlite", registry)).toEqual({
      kind: "registered",
      isLost: true,
      said: 1,
    });
    // It is noted with the ids, before the Registry is asked: a process that ends then finds it noted.
    const unavailable = { kind: "dependency-unavailable", isLost: true };
    expect(await registerWith("third.sqlite", unreached(registry))).toMatchObject(unavailable);
    expect(await registerWith("third.sqlite", unheard(registry))).toMatchObject(unavailable);
    expect(await registerWith("third.sqlite", registry)).toEqual({
      kind: "registered",
      isLost: true,
      said: 0,
    });
    // Whoever cannot look writes nothing down, and looks again.
    const blind: RegistryClient = {
      ...registry,
      lookupById: () => Promise.reject(new RegistryError("unavailable", "nobody is there")),
    };
    expect(await registerWith("fourth.sqlite", blind)).toMatchObject({ ...unavailable, isLost: false });
    expect(await registerWith("fourth.sqlite", registry)).toMatchObject({ kind: "registered", isLost: true });
  },
);
