// The life of an endpoint's agent with the real store, the real registration code and the real MCP server around it. What the
// Registry answers and how long the protocol takes to come up are in the test's hands.

import { createHash } from "node:crypto";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import type { Registration } from "@social-harness/registry/Registration";
import * as Chains from "@social-harness/testkit/Chains";
import { identityOf } from "@social-harness/testkit/network/NetworkAgent";
import { onTestFinished } from "vitest";
import { type AgentLife, createAgentLife } from "../../src/operations/AgentLife.ts";
import type { RegisterResult } from "../../src/operations/Operations.ts";
import type { RegisteringOptions } from "../../src/operations/Registration.ts";
import type { Database } from "../../src/store/Database.ts";
import { startEndpoint, type TestEndpoint } from "../mcp/TestEndpoint.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

export interface Gate {
  readonly entered: () => number;
  readonly open: () => void;
  readonly fail: (cause: Error) => void;
  readonly pass: () => Promise<void>;
}

/** Whoever passes waits for the next `open` or `fail`; before either it counts who stands there. */
export const gate = (): Gate => {
  let door = Promise.withResolvers<void>();
  let entered = 0;
  return {
    entered: () => entered,
    open: () => door.resolve(),
    fail: (cause) => {
      const { reject } = door;
      door = Promise.withResolvers<void>();
      reject(cause);
    },
    pass: () => {
      entered += 1;
      return door.promise;
    },
  };
};

const bytes = (label: string): Buffer => createHash("sha256").update(label).digest().subarray(0, 16);

export const asking = (agentName: string, operation = "first") => ({
  operationId: OperationId.fromBytes(bytes(operation)),
  principalId: PrincipalId.fromBytes(bytes("principal")),
  agentName: agentName as AgentName,
});

/** The card that the Registry issues for a request. */
export const cardFor = (request: Registration): AgentCard.AgentCard =>
  AgentCard.issue(Chains.registry, request, request.keySignature, "2026-11-30T12:00:00Z" as never);

export interface LifeBench {
  readonly db: Database;
  readonly life: AgentLife<object>;
  readonly endpoint: TestEndpoint;
  /** Stands before the Registry's answer. */
  readonly registry: Gate;
  /** Stands before the end of an activation. */
  readonly activation: Gate;
  /** What the Registry was asked. */
  readonly requests: ReadonlyArray<Registration>;
  /** The admission credentials that came along. */
  readonly credentials: ReadonlyArray<string | null>;
}

export interface LifeBenchOptions {
  readonly db?: Database;
  readonly answer?: RegisterResult;
  readonly more?: Partial<RegisteringOptions>;
}

const down = (): Promise<never> => Promise.reject(new RegistryError("unavailable", "not in this test"));

export const openBench = async ({
  db = temporaryStore(),
  answer,
  more = {},
}: LifeBenchOptions = {}): Promise<LifeBench> => {
  const [registry, activation] = [gate(), gate()];
  const requests: Array<Registration> = [];
  const credentials: Array<string | null> = [];
  const client: RegistryClient = {
    register: async (request, credential) => {
      requests.push(request);
      credentials.push(credential);
      await registry.pass();
      return answer ?? { kind: "registered", agentCard: cardFor(request) };
    },
    lookupByName: down,
    lookupById: async () => null,
    list: down,
    close: () => undefined,
  };
  const listeners = new Set<() => void>();
  const life = createAgentLife<object>({
    db,
    identity: identityOf("ada-agent"),
    registry: client,
    registryKey: Chains.registry.publicKey,
    admission: undefined,
    clock: () => 0,
    logger: () => undefined,
    start: async (card) => {
      await activation.pass();
      return { card };
    },
    onActivated: () => {
      for (const listener of listeners) listener();
    },
    ...more,
  });
  const served = await startEndpoint({
    registered: false,
    overrides: {
      isRegistered: () => life.agent() !== null,
      register: life.register,
      status: life.status,
      onCatalogChanged: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
  });
  let closed: Promise<void> | undefined;
  const endpoint = { ...served, close: () => (closed ??= served.close()) };
  onTestFinished(endpoint.close);
  return { db, life, endpoint, registry, activation, requests, credentials };
};
