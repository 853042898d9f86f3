// An endpoint small enough for a test: a real store and inbox, a registration in memory, sends that are only recorded,
// and the real MCP server in front of them.

import { createHash, randomBytes } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import type { Item } from "@social-harness/protocol/delivery/Item";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import { type DeliveryToken, OperationId, PostId } from "@social-harness/protocol/identity/Identifier";
import * as HoldRows from "../../src/firewall/HoldRows.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import { type McpServer, type McpServerOptions, startMcpServer } from "../../src/mcp/McpServer.ts";
import type { HoldTools } from "../../src/operations/Holds.ts";
import type { Health } from "../../src/operations/Health.ts";
import { OperationError } from "../../src/operations/OperationError.ts";
import type { Owner } from "../../src/operations/Owner.ts";
import type { EventConsumers } from "../../src/operations/EventSubscription.ts";
import type { Operations, SendInput } from "../../src/operations/Operations.ts";
import type { Mode } from "../../src/state/Configuration.ts";
import type { Tokens } from "../../src/state/Tokens.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import * as Webhooks from "../../src/webhooks/Webhooks.ts";
import { cardOf, makeStore, type TestStore } from "../ingress/CertifiedPosts.ts";

export const startSecret = "s".repeat(43);
export const ownerToken = "owner-token-for-tests-owner-token-for-tests";
export const metricsToken = "metrics-token-for-tests-metrics-token-for-tests";
export const runtimeToken = "runtime-token-for-tests-runtime-token-for-tests";

/** How an endpoint stands that does everything that it is for. */
export const healthy: Health = {
  registered: true,
  routerConnected: true,
  routerSince: "2026-07-28T00:00:00.000Z",
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
  registryUrl: "https://registry.example",
  routerUrl: "wss://router.example",
  contacts: "everyone",
  blocked: [],
};

/** An owner's side that has nothing to show and knows no conversation and no post. */
export const noOwner: Owner = {
  evidence: () => ({ equivocations: [], formerRouters: [] }),
  wishRound: async () => ({ kind: "unknown-conversation" }),
  withdraw: async () => ({ kind: "unknown-post" }),
  probe: async () => ({ kind: "not-connected" }),
  webhookAttempts: () => [],
  testWebhook: async () => ({ kind: "none" }),
  metrics: () => "",
};

/** Nobody subscribes, and no webhook is in the way of a stream. */
export const noConsumers: EventConsumers = {
  subscribe: async () => ({ kind: "occupied" }),
  unsubscribe: () => {},
  isConsumedByWebhook: () => false,
  onConsumed: () => () => {},
};

/** Receivers that nobody reaches. */
const unreachable: CallbackClient = {
  post: async () => ({ kind: "failed", category: "connection-refused" }),
  close: async () => {},
};

export const textItem = (text: string): Item => ({
  kind: "multicast",
  message: {
    kind: "direct",
    postId: PostId.fromBytes(createHash("sha256").update(text).digest()),
    address: "agent:bob" as never,
    sender: "agent:bob" as never,
    content: [{ type: "text", text }],
  },
});

export const groupItem = (text: string): Item => ({
  kind: "multicast",
  message: {
    kind: "group",
    postId: PostId.fromBytes(createHash("sha256").update(text).digest()),
    address: "group:alice,bob,carol" as never,
    sender: "agent:carol" as never,
    members: ["agent:alice", "agent:bob", "agent:carol"] as never,
    content: [{ type: "text", text }],
  },
});

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number>>;
}

export interface TestEndpoint {
  readonly operations: Operations;
  readonly store: TestStore;
  readonly server: McpServer;
  readonly url: string;
  readonly port: number;
  readonly sent: ReadonlyArray<SendInput>;
  readonly log: ReadonlyArray<LogLine>;
  readonly deliver: (item: Item) => DeliveryToken;
  readonly activate: () => void;
  /** An official client, not yet connected. Closed with the endpoint. */
  readonly client: (token?: string) => Promise<Client>;
  readonly close: () => Promise<void>;
}

export interface TestEndpointOptions {
  readonly registered?: boolean;
  readonly heartbeatMs?: number;
  readonly requestMsMax?: number;
  readonly pause?: McpServerOptions["pause"];
  /** 0, any free one, unless a test starts again where another endpoint was. */
  readonly port?: number;
  readonly overrides?: Partial<Operations>;
  readonly holdTools?: HoldTools;
  readonly mode?: Mode;
  readonly tokens?: () => Tokens;
  readonly health?: McpServerOptions["health"];
  readonly owner?: Owner;
  readonly callbacks?: CallbackClient;
  /** Where a webhook's subscriber goes instead of the real ones. */
  readonly consumers?: EventConsumers;
}

export const startEndpoint = async (options: TestEndpointOptions = {}): Promise<TestEndpoint> => {
  const store = makeStore();
  const card: AgentCard = cardOf("alice");
  const pendingListeners = new Set<() => void>();
  const catalogListeners = new Set<() => void>();
  const sent: Array<SendInput> = [];
  const log: Array<LogLine> = [];
  const mode = options.mode ?? "trusted-local";
  const holdTools = options.holdTools ?? "kept";
  let registered = options.registered ?? true;

  const listening = (listeners: Set<() => void>) => (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const activate = (): void => {
    registered = true;
    for (const listener of catalogListeners) listener();
  };

  const logger: McpServerOptions["logger"] = (level, event, fields = {}) =>
    void log.push({ level, event, fields });
  const webhooks = Webhooks.create({
    db: store.db,
    client: options.callbacks ?? unreachable,
    scope: card.agentId,
    enabled: mode === "credentials",
    clock: Date.now,
    random: randomBytes,
    schedule: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs).unref();
      return () => clearTimeout(timer);
    },
    logger,
  });
  pendingListeners.add(webhooks.wake);
  webhooks.start();

  const operations: Operations = {
    isRegistered: () => registered,
    register: async ({ agentName }) => {
      if (agentName === "taken") return { kind: "name_taken" };
      activate();
      return { kind: "registered", agentCard: card };
    },
    status: () => (registered ? { kind: "active", agentCard: card } : { kind: "unregistered" }),
    searchAgents: async (input) => {
      if ("agentId" in input) return { kind: "not_found" };
      if ("agentName" in input) return { kind: "found", agentCard: cardOf(input.agentName) };
      return { kind: "page", agentCards: [card, cardOf("bob")], hasMore: false };
    },
    searchConversations: () => ({ kind: "page", addresses: ["agent:bob" as never], hasMore: false }),
    readConversation: async () => ({ kind: "page", records: [], continuation: null }),
    sendMessage: async (input) => {
      sent.push(input);
      return {
        status: "certified",
        postId: PostId.fromBytes(randomBytes(32)),
        operationId: OperationId.fromBytes(randomBytes(16)),
      };
    },
    readInbox: ({ cursor }) => Inbox.page(store.db, cursor),
    acknowledgeDelivery: async (token) => {
      store.db.transaction(() => {
        Inbox.acknowledge(store.db, token, Date.now());
        Occurrence.drop(store.db, [token], Date.now());
      });
      webhooks.wake();
    },
    readEvent: (eventId) => Inbox.readEvent(store.db, eventId),
    eventSubscriptionStatus: webhooks.eventSubscriptionStatus,
    revokeEventSubscription: webhooks.revokeEventSubscription,
    resumeEventSubscription: webhooks.resumeEventSubscription,
    holdTools: () => holdTools,
    listHolds: (input) => HoldRows.list(store.db, input),
    readHold: (holdId) => HoldRows.read(store.db, holdId),
    discardHold: async (holdId) => store.db.transaction(() => HoldRows.discard(store.db, holdId, Date.now())),
    releaseHold: async (holdId) => {
      const writing = { now: Date.now(), random: randomBytes };
      const { kind } = store.db.transaction(() => HoldRows.release(store.db, holdId, writing));
      return { kind };
    },
    pendingCount: () => Inbox.unreadCount(store.db),
    onPending: listening(pendingListeners),
    onCatalogChanged: listening(catalogListeners),
    ...options.overrides,
  };

  const server = await startMcpServer({
    operations,
    health: options.health ?? (() => healthy),
    owner: options.owner ?? {
      ...noOwner,
      webhookAttempts: webhooks.webhookAttempts,
      testWebhook: webhooks.testWebhook,
    },
    consumers: options.consumers ?? webhooks,
    listen: { host: "127.0.0.1", port: options.port ?? 0 },
    authority: {
      mode,
      tokens:
        options.tokens ??
        (() => ({
          owner: ownerToken,
          runtime: mode === "credentials" ? runtimeToken : null,
          metrics: metricsToken,
        })),
    },
    startSecret,
    logger,
    clock: Date.now,
    random: randomBytes,
    version: "0.0.0-test",
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
    ...(options.requestMsMax === undefined ? {} : { requestMsMax: options.requestMsMax }),
    ...(options.pause === undefined ? {} : { pause: options.pause }),
  });
  const clients: Array<Client> = [];
  return {
    operations,
    store,
    server,
    url: server.url,
    port: Number(new URL(server.url).port),
    sent,
    log,
    activate,
    deliver: (item) => {
      const token = store.db.transaction(() =>
        Inbox.admit(store.db, { item, now: Date.now(), random: randomBytes }),
      );
      for (const listener of pendingListeners) listener();
      return token;
    },
    client: async (token) => {
      const client = new Client(
        { name: "test-host", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      await client.connect(
        new StreamableHTTPClientTransport(
          new URL(server.url),
          token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } },
        ),
      );
      clients.push(client);
      return client;
    },
    close: async () => {
      for (const client of clients) await client.close();
      await webhooks.close();
      await server.close();
      store.remove();
    },
  };
};

export const failing = (reason: string) => (): never => {
  throw new OperationError(reason as never, "the reason stands here for the log alone");
};
