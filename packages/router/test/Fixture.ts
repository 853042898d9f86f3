// What the Router's tests share: agents with real keys and cards, envelopes sealed and signed for real, a Router on a
// free loopback port, and a client that remembers what it was told.

import { randomBytes } from "node:crypto";
import { openSqliteLog, type SqliteLog } from "@social-harness/log/SqliteLog";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import {
  MessageId,
  PrincipalId,
  type AgentId,
  type SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import {
  createRouterClient,
  type Delivery,
  type DisconnectReason,
  type Gap,
  type ReadyState,
  type RouterClient,
  type RouterClientOptions,
} from "../src/client/RouterClient.ts";
import type { Logger } from "../src/Logger.ts";
import * as SealingKeys from "../src/seal/SealingKeys.ts";
import * as Sealing from "../src/seal/Sealing.ts";
import { startRouter, type Router, type RouterOptions } from "../src/service/Router.ts";
import * as Envelope from "../src/wire/Envelope.ts";

export const random = (byteCount: number): Uint8Array => randomBytes(byteCount);
export const clock = (): number => Date.now();
export const silent: Logger = () => {};

export const registry = Ed25519.signerFromSeed(Buffer.alloc(32, 7));

export interface Agent {
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  readonly sealingSecret: SealingKeys.SealingSecret;
  readonly sealer: Sealing.Sealer;
  readonly opener: Sealing.Opener;
}

/** An agent whose keys follow from its number, so that a process and its parent agree about it. */
export const makeAgent = (number: number, issuer: Signer = registry): Agent => {
  const signer = Ed25519.signerFromSeed(Buffer.alloc(32, `signing ${number}`));
  const sealingSecret = SealingKeys.fromSeed(Buffer.alloc(32, `sealing ${number}`));
  const keys = {
    agentName: `agent-${number}` as AgentName,
    principalId: PrincipalId.fromBytes(Buffer.alloc(16, number)),
    signingKey: signer.publicKey,
    sealingKey: sealingSecret.publicKey,
    registryKey: issuer.publicKey,
  };
  const issuedAt = "2026-01-01T00:00:00Z" as AgentCard.Timestamp;
  const card = AgentCard.issue(issuer, keys, AgentCard.signKeys(signer, keys), issuedAt);
  return {
    card,
    signer,
    sealingSecret,
    sealer: Sealing.createSealer({ random, clock }),
    opener: Sealing.createOpener({ agentId: card.agentId, sealingKey: sealingSecret }),
  };
};

export const makeAgents = (count: number): ReadonlyArray<Agent> =>
  Array.from({ length: count }, (_, i) => makeAgent(i + 1));

const cardsOf = (agents: ReadonlyArray<Agent>) => {
  const ordered = Envelope.orderRecipients(agents.map(({ card }) => card.agentId));
  return ordered.map((id) => (agents.find(({ card }) => card.agentId === id) as Agent).card);
};

/** A finished envelope from `sender` to exactly `recipients`, its body the text. */
export const envelopeFrom = (
  sender: Agent,
  recipients: ReadonlyArray<Agent>,
  body: string | Uint8Array,
  messageId = MessageId.fromBytes(random(16)),
): Envelope.FinishedEnvelope => {
  const cards = cardsOf(recipients);
  return Envelope.finish(sender.signer, {
    messageId,
    recipientAgentIds: cards.map(({ agentId }) => agentId),
    sealed: sender.sealer.seal(cards, Buffer.from(body)),
    senderAgentId: sender.card.agentId,
    senderCardDigest: AgentCard.digestOf(sender.card),
  });
};

export interface Bench {
  readonly log: SqliteLog;
  readonly router: Router;
  readonly close: () => Promise<void>;
}

/** A Router over a log in memory, unless another is given. */
export const startBench = async (options: Partial<RouterOptions> = {}): Promise<Bench> => {
  const log = options.log ?? openSqliteLog(":memory:");
  const router = await startRouter({
    log,
    signer: routerSigner,
    registryKey: registry.publicKey,
    listen: { host: "127.0.0.1", port: 0 },
    clock,
    random,
    logger: silent,
    ...options,
  });
  return {
    log,
    router,
    close: async () => {
      await router.close();
      if (options.log === undefined) await log.close();
    },
  };
};

export const routerSigner = Ed25519.signerFromSeed(Buffer.alloc(32, 9));

export interface Told {
  readonly agent: Agent;
  readonly client: RouterClient;
  readonly readies: Array<ReadyState>;
  readonly deliveries: Array<Delivery>;
  readonly gaps: Array<Gap>;
  readonly disconnects: Array<DisconnectReason>;
  /** What the bodies said, in the order of delivery. */
  readonly texts: () => ReadonlyArray<string>;
  /** Resolves as soon as the condition holds; it is looked at after everything the client is told. */
  readonly until: (condition: () => boolean) => Promise<void>;
}

/** A started client that acknowledges what it gets, and takes a repeated cursor for what it is. */
export const connect = (
  router: { readonly url: string; readonly routerKey: SigningKey },
  agent: Agent,
  options: Partial<RouterClientOptions> & { readonly acknowledges?: boolean } = {},
): Told => {
  const { acknowledges = true, ...rest } = options;
  const waiting = new Set<() => void>();
  const look = (): void => waiting.forEach((check) => check());
  const told: Omit<Told, "client"> = {
    agent,
    readies: [],
    deliveries: [],
    gaps: [],
    disconnects: [],
    texts: () =>
      told.deliveries.map(
        ({ envelope }) => agent.opener.open(envelope.sealed)?.toString("utf8") ?? "unopened",
      ),
    until: (condition) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!condition()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
  const lastCursor = (): number =>
    Math.max(told.deliveries.at(-1)?.cursor ?? 0, told.gaps.at(-1)?.toCursor ?? 0);
  const client: RouterClient = createRouterClient({
    url: router.url,
    routerKey: router.routerKey,
    card: agent.card,
    signer: agent.signer,
    verifier: Ed25519.verifier,
    random,
    logger: silent,
    onReady: (ready) => {
      told.readies.push(ready);
      look();
    },
    onDeliver: (delivery) => {
      if (delivery.cursor <= lastCursor()) return;
      told.deliveries.push(delivery);
      if (acknowledges) client.ack(delivery.cursor);
      look();
    },
    onGap: (gap) => {
      if (gap.toCursor <= lastCursor()) return;
      told.gaps.push(gap);
      if (acknowledges) client.ack(gap.toCursor);
      look();
    },
    onDisconnected: (reason) => {
      told.disconnects.push(reason);
      look();
    },
    ...rest,
    limits: { backoffMsMin: 5, backoffMsMax: 40, ...rest.limits },
  });
  client.start();
  return { ...told, client };
};

export const idOf = ({ card }: Agent): AgentId => card.agentId;

/** Looks again every millisecond until it is so: for what no callback tells. */
export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
};
