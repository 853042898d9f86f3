// The HTTPS receiver of all webhooks of a run, one path an agent. It passes every challenge, and answers deliveries as the
// seed has it: mostly with a receipt, at once or slowly, and now and then with a failure, a closed connection or nothing.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as StandardWebhook from "@social-harness/endpoint/callbacks/StandardWebhook";
import { cert, key } from "../SelfSigned.ts";
import type { Random } from "../simulation/Random.ts";
import * as Disk from "./Disk.ts";
import type { Faults } from "./Fault.ts";
import * as Received from "./Received.ts";

export interface Receiver {
  readonly urlOf: (agent: string) => string;
  /** Resolves when the next delivery of an agent is whole and recorded. */
  readonly nextDelivery: (agent: string) => Promise<void>;
  readonly close: () => void;
}

export interface ReceiverOptions {
  readonly secret: string;
  readonly fileOf: (agent: string) => string;
  readonly random: Random;
  readonly faults: Faults;
}

export const loopback = "127.0.0.1";
/** What a daemon must be told to call here. */
export const testCallbacks = { addresses: [loopback], certificateAuthority: cert };

const replies: ReadonlyArray<readonly [probability: number, reply: Received.Reply]> = [
  [0.003, "silent"],
  [0.01, "cut"],
  [0.025, "closed"],
  [0.06, "failed"],
  [1, "taken"],
];
const slowChance = 0.25;
const slowMsMax = 250;

interface Message {
  readonly type?: string;
  readonly challenge?: string;
  readonly eventId: string;
  readonly data: { readonly item?: object; readonly guidance?: string };
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer | null> => {
  const chunks: Array<Buffer> = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch {
    // Whoever sent it was killed.
    return null;
  }
};

const give = (response: ServerResponse, reply: Received.Reply, text = ""): void => {
  switch (reply) {
    case "taken":
      return void response.writeHead(200).end(text);
    case "failed":
      return void response.writeHead(500).end();
    case "closed":
      return void response.destroy();
    case "cut":
      response.writeHead(200, { "content-length": 100 });
      return void response.write("{", () => response.destroy());
    case "silent":
      return;
  }
};

export const start = async ({ secret, fileOf, random, faults }: ReceiverOptions): Promise<Receiver> => {
  const signing = StandardWebhook.parseSecret(secret);
  if (signing === null) throw new RangeError("that is no webhook secret");
  const awaited = new Map<string, PromiseWithResolvers<void>>();

  const eventOf = ({ headers }: IncomingMessage, body: Buffer, { eventId, data }: Message) => ({
    eventId,
    digest: Disk.digestOf(body),
    // Canonical JSON is what the engine writes of what it has parsed.
    itemDigest: data.item === undefined ? null : Disk.digestOf(JSON.stringify(data.item)),
    guidance: data.guidance ?? null,
    isSigned:
      headers["webhook-signature"] ===
      StandardWebhook.sign(
        signing,
        String(headers["webhook-id"]),
        Number(headers["webhook-timestamp"]),
        body,
      ),
  });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const at = Date.now();
    const agent = String(request.url).slice(1);
    const webhookId = String(request.headers["webhook-id"]);
    const draw = random.next();
    const [, reply] = replies.find(([probability]) => draw < probability) ?? [1, "taken"];
    const slowMs = random.chance(slowChance) ? random.below(slowMsMax) : 0;
    const body = await bodyOf(request);
    if (body === null) return Received.write(fileOf(agent), { at, webhookId, event: null, reply: "closed" });
    const message = JSON.parse(body.toString("utf8")) as Message;
    if (message.type === "verification")
      return give(response, "taken", JSON.stringify({ challenge: message.challenge }));
    if (slowMs > 0) await sleep(slowMs);
    Received.write(fileOf(agent), { at, webhookId, event: eventOf(request, body, message), reply });
    awaited.get(agent)?.resolve();
    awaited.delete(agent);
    give(response, reply);
  };

  const server = createServer({ key, cert }, (request, response) => {
    response.on("error", () => undefined);
    answer(request, response).catch((error: unknown) =>
      faults.add(`the receiver met something that is no delivery: ${String(error)}`),
    );
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, loopback);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (agent) => `https://${loopback}:${port}/${agent}`,
    nextDelivery: (agent) => {
      const coming = awaited.get(agent) ?? Promise.withResolvers<void>();
      awaited.set(agent, coming);
      return coming.promise;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
