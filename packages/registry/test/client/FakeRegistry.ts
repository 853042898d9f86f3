// A Registry that answers whatever a test wants, under its true key unless the test says otherwise, and counts what it was
// asked.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import { timestampOf } from "@social-harness/registry/Timestamp";
import * as Wire from "@social-harness/registry/Wire";
import { agentOf, registrySigner } from "../TestNetwork.ts";

export interface FakeRegistry {
  readonly url: string;
  readonly requests: Array<{ readonly path: string; readonly body: string }>;
  readonly close: () => void;
}

export type Answer = (
  request: { readonly path: string; readonly body: string },
  response: ServerResponse,
  incoming: IncomingMessage,
) => void;

export const startFake = async (answer: Answer): Promise<FakeRegistry> => {
  const requests: FakeRegistry["requests"] = [];
  const server = createServer((incoming, response) => {
    const chunks: Array<Buffer> = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const request = { path: incoming.url ?? "", body: Buffer.concat(chunks).toString() };
      requests.push(request);
      response.setHeader(Wire.registryKeyHeader, registrySigner.publicKey);
      answer(request, response, incoming);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, requests, close };
};

export const writeBytes = (response: ServerResponse, bytes: Uint8Array | string, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(bytes);
};

/** Answers every request with this value. */
export const saying =
  (value: CanonicalJson.Json, status = 200): Answer =>
  (_, response) =>
    writeBytes(response, CanonicalJson.encode(value), status);

const cards = new Map<string, AgentCard.AgentCard>();

/** The card that a correct Registry would issue for the agent of this name. */
export const cardOf = (name: string, registry: Signer = registrySigner): AgentCard.AgentCard => {
  const key = `${registry.publicKey} ${name}`;
  const known = cards.get(key);
  if (known !== undefined) return known;
  const { registration } = agentOf(name, { registryKey: registry.publicKey });
  const card = AgentCard.issue(registry, registration, registration.keySignature, timestampOf(0));
  cards.set(key, card);
  return card;
};
