// Registries and agents for tests: seeded keys, real sockets on loopback, and everything closed when a test ends.

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Log } from "@social-harness/log/Log";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { OperationId, PrincipalId, SealingKey } from "@social-harness/protocol/identity/Identifier";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import type { AdmissionCredential, Random } from "@social-harness/registry/Admission";
import { makeRegistryClient, type RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { makeInvites, type Invites } from "@social-harness/registry/Invites";
import * as Registration from "@social-harness/registry/Registration";
import * as Wire from "@social-harness/registry/Wire";
import {
  startRegistry,
  type RegistryOptions,
  type RunningRegistry,
} from "@social-harness/registry/service/RegistryServer";

export const bytesOf = (seed: string, length: number): Buffer =>
  createHash("shake256", { outputLength: length }).update(seed).digest();

/** A stream of bytes decided by its seed. */
export const seededRandom = (seed: string): Random => {
  let count = 0;
  return (length) => bytesOf(`${seed}/${++count}`, length);
};

/** 2026-11-30T12:00:00Z and a second more at every look. */
export const tickingClock = (): (() => number) => {
  let now = Date.UTC(2026, 10, 30, 12);
  return () => (now += 1_000);
};

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-registry-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

export const registrySigner = Ed25519.signerFromSeed(bytesOf("registry", 32));

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number>>;
}

export interface TestNetwork {
  readonly log: Log;
  readonly running: RunningRegistry;
  readonly url: string;
  readonly invites: Invites;
  readonly lines: ReadonlyArray<LogLine>;
  readonly client: RegistryClient;
}

/** A Registry on a free loopback port with a client, both closed with the test. */
export const startNetwork = async (overrides: Partial<RegistryOptions> = {}): Promise<TestNetwork> => {
  const lines: Array<LogLine> = [];
  const options: RegistryOptions = {
    log: openMemoryLog(),
    keys: { registry: registrySigner },
    admission: "open",
    listen: { host: "127.0.0.1", port: 0 },
    clock: tickingClock(),
    random: seededRandom("service"),
    logger: (level, event, fields = {}) => lines.push({ level, event, fields }),
    ...overrides,
  };
  const running = await startRegistry(options);
  onTestFinished(() => running.close());
  const { log, clock } = options;
  const registryKey = options.keys.registry.publicKey;
  return {
    log,
    running,
    url: running.url,
    lines,
    invites: makeInvites({ log, registryKey, clock, random: seededRandom("operator") }),
    client: clientOf(running.url),
  };
};

export const clientOf = (
  url: string,
  registryKey: SigningKey = registrySigner.publicKey,
  cachedCardsMax = 100,
): RegistryClient => {
  const client = makeRegistryClient({ url, registryKey, cachedCardsMax });
  onTestFinished(() => client.close());
  return client;
};

export interface Agent {
  readonly signer: Signer;
  readonly wish: Registration.Wish;
  readonly registration: Registration.Registration;
}

/** The agent of a name, the same for the same name and overrides. Its keys come from `seed`, by default the name. */
export const agentOf = (name: string, overrides: Partial<Registration.Wish> = {}, seed = name): Agent => {
  const signer = Ed25519.signerFromSeed(bytesOf(`signing/${seed}`, 32));
  const wish: Registration.Wish = {
    operationId: OperationId.fromBytes(bytesOf(`operation/${seed}`, 16)),
    principalId: PrincipalId.fromBytes(bytesOf(`principal/${seed}`, 16)),
    agentName: name as AgentName,
    sealingKey: SealingKey.fromBytes(bytesOf(`sealing/${seed}`, 32)),
    registryKey: registrySigner.publicKey,
    ...overrides,
  };
  return { signer, wish, registration: Registration.sign(signer, wish) };
};

export const nameOf = (name: string): AgentName => name as AgentName;

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** A request as somebody else's client would send it. */
export const send = async (
  url: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer> | null,
  init: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<RawAnswer> => {
  const response = await fetch(`${url}${path}`, {
    method: init.method ?? "POST",
    body,
    headers: { "content-type": "application/json", "social-harness-version": "1", ...init.headers },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
};

export const sendJson = (
  url: string,
  path: string,
  value: CanonicalJson.Json,
  headers: Record<string, string> = {},
): Promise<RawAnswer> => send(url, path, CanonicalJson.encode(value), { headers });

export const bearer = (credential: AdmissionCredential | string): Record<string, string> => ({
  authorization: `Bearer ${credential}`,
});

/** That the answer is this one of the closed errors, and nothing else. */
export const expectError = ({ status, text, headers }: RawAnswer, code: Wire.ErrorCode): void => {
  expect([status, text]).toEqual([Wire.statusOf[code], `{"error":"${code}"}`]);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("cache-control")).toBe("no-store");
};
