// The only composition root of an endpoint: takes the state folder, opens and checks the store, brings up what the
// registration allows, and serves it over MCP. Everything below receives what it needs from here.

import type { ProxyEnv } from "node:http";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import type { Logger } from "@social-harness/router/Logger";
import type { Tracer } from "@social-harness/router/Tracer";
import { makeCallbackClient } from "./callbacks/CallbackClient.ts";
import * as TestCallbacks from "./callbacks/TestCallbacks.ts";
import { startActiveAgent } from "./conversations/ActiveAgent.ts";
import * as ContactPolicy from "./conversations/ContactPolicy.ts";
import type { Turn } from "./conversations/Conversations.ts";
import * as Firewall from "./firewall/Firewall.ts";
import * as HoldRows from "./firewall/HoldRows.ts";
import * as Inbox from "./ingress/Inbox.ts";
import * as Recovery from "./ingress/Recovery.ts";
import { startMcpServer } from "./mcp/McpServer.ts";
import { createAgentLife } from "./operations/AgentLife.ts";
import { createContinuations } from "./operations/Continuations.ts";
import { withReasons, withReasonsSync } from "./operations/Failing.ts";
import * as Health from "./operations/Health.ts";
import { readConversation, searchConversations, type Snapshot } from "./operations/History.ts";
import * as Metrics from "./operations/Metrics.ts";
import * as Observers from "./operations/Observers.ts";
import * as Owner from "./operations/Owner.ts";
import type { Operations } from "./operations/Operations.ts";
import { searchAgents } from "./operations/SearchAgents.ts";
import { sendMessage } from "./operations/SendMessage.ts";
import type { Configuration } from "./state/Configuration.ts";
import * as EndpointFile from "./state/EndpointFile.ts";
import * as Identity from "./state/Identity.ts";
import * as Leftovers from "./state/Leftovers.ts";
import * as Lock from "./state/Lock.ts";
import * as ProcessBirth from "./state/ProcessBirth.ts";
import * as StartSecret from "./state/StartSecret.ts";
import { StateError } from "./state/StateError.ts";
import type { StateFolder } from "./state/StateFolder.ts";
import * as Tokens from "./state/Tokens.ts";
import * as Database from "./store/Database.ts";
import { check } from "./store/StartUpCheck.ts";
import * as StoreStanding from "./store/StoreStanding.ts";
import { version } from "./Version.ts";
import * as Occurrence from "./webhooks/Occurrence.ts";
import * as Webhooks from "./webhooks/Webhooks.ts";

export interface EndpointOptions {
  /** As `StateFolder.open` made it. */
  readonly stateFolder: StateFolder;
  readonly configuration: Configuration;
  readonly logger: Logger;
  /** Told of calls, posts and webhook attempts that are over, where somebody wants traces. */
  readonly tracer?: Tracer;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (byteCount: number) => Buffer;
  /** Whether the folder's test callbacks count; without it a folder that has some is refused. */
  readonly allowTestCallbacks?: boolean;
  /** Names proxies for the way to Registry and Router, as HTTPS_PROXY and NO_PROXY do. Callbacks go through none. */
  readonly proxyEnvironment?: ProxyEnv;
}

export interface Endpoint {
  readonly mcpUrl: string;
  readonly health: () => Health.Health;
  /** Stops intake, ends streams, commits what is queued, closes; under five seconds. `why` is for the log. */
  readonly close: (why?: string) => Promise<void>;
}

const createSignal = () => {
  const listeners = new Set<() => void>();
  return {
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    emit: () => {
      for (const listener of listeners) listener();
    },
  };
};

/** A timer that keeps no process alive. */
const schedule = (delayMs: number, fire: () => void): (() => void) => {
  const timer = setTimeout(fire, delayMs).unref();
  return () => clearTimeout(timer);
};

/**
 * Starts the endpoint of a state folder. Rejects with `StateError` (folder, lock, keys) or `StoreError` (a store that must
 * not be used as it is) and leaves everything as it was.
 */
export const startEndpoint = async (options: EndpointOptions): Promise<Endpoint> => {
  const lock = Lock.acquire(options.stateFolder);
  const opened: Array<() => void | Promise<void>> = [];
  try {
    EndpointFile.remove(options.stateFolder);
    Leftovers.remove(options.stateFolder);
    return await startLocked(options, lock, opened);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    lock.release();
    throw error;
  }
};

/** `opened` takes what must be closed again, the last first, when a later step fails. */
const startLocked = async (
  options: EndpointOptions,
  lock: Lock.Lock,
  opened: Array<() => void | Promise<void>>,
): Promise<Endpoint> => {
  const { stateFolder, configuration, logger, clock, random } = options;
  const identity = Identity.load(stateFolder);
  if (identity === null) {
    throw new StateError(
      "missing",
      `${stateFolder.path} has no keys yet`,
      "run `social-harness init` or `join` first",
    );
  }
  Tokens.ensure(stateFolder, configuration.mode, random);
  const testCallbacks = TestCallbacks.read(stateFolder, options.allowTestCallbacks ?? false);
  if (testCallbacks !== null) {
    logger("warn", "callbacks may go to test addresses", {
      explanation: "this daemon is for tests alone",
      addresses: testCallbacks.addresses.length,
    });
  }
  const guard = Database.guard(stateFolder.database);
  opened.push(guard.close);
  const store = Database.open(stateFolder.database);
  opened.push(store.close);
  const storeStanding = StoreStanding.create({
    db: store,
    path: stateFolder.database,
    beside: [stateFolder.lock],
    clock,
    schedule,
    logger,
  });
  opened.push(storeStanding.close);
  const { db } = storeStanding;
  const metrics = Metrics.create(clock());
  const observers = Observers.create(metrics, options.tracer);
  const verifier = metrics.counting(Ed25519.verifier);
  const trust: Trust = { verifier, registryKey: configuration.registryKey };
  const checked = await check(db, trust);
  guard.close();
  logger("info", "store checked", { ...checked });
  db.transaction(() => Inbox.prepare(db, random));
  const { proxyEnvironment } = options;
  const proxies = proxyEnvironment === undefined ? {} : { proxyEnvironment };
  const registry = makeRegistryClient({
    url: configuration.registryUrl,
    registryKey: configuration.registryKey,
    ...proxies,
  });
  opened.push(registry.close);
  const callbacks = makeCallbackClient({ clock, test: testCallbacks });
  opened.push(callbacks.close);
  const pending = createSignal();
  const catalog = createSignal();
  const continuations = createContinuations<Snapshot>(random, clock);
  let firewall: Firewall.Firewall | null = null;

  const life = createAgentLife({
    db,
    identity,
    registry,
    registryKey: configuration.registryKey,
    admission: configuration.admission,
    clock,
    logger,
    start: async (card) => {
      const wall = Firewall.create({
        db,
        self: card.agentId,
        contacts: configuration.contacts,
        path: stateFolder.firewall,
        folder: stateFolder.path,
        callbacks,
        random,
        logger,
        onAdmitted: pending.emit,
        onHoldTools: catalog.emit,
      });
      const retired = Recovery.recover({
        db,
        // Collective state is volatile: a process begins without any.
        answerable: new Set(),
        now: clock(),
        random,
        admit: wall.admit,
        onRetired: Occurrence.drop,
      });
      if (retired > 0)
        logger("warn", "requests of before this start cannot be answered any more", { requests: retired });
      const agent = await startActiveAgent({
        db,
        card,
        signer: identity.signer,
        sealingSecret: identity.sealing,
        trust,
        contactPolicy: configuration,
        routerUrl: configuration.routerUrl,
        routerKey: configuration.routerKey,
        ...proxies,
        registry,
        clock,
        random,
        logger,
        storeStanding,
        firewall: wall,
        onAdmitted: pending.emit,
        observer: observers,
      });
      opened.push(agent.close);
      await wall.start(agent.turns);
      opened.push(wall.close);
      firewall = wall;
      return agent;
    },
    onActivated: catalog.emit,
  });
  const { active } = life;

  const { mode } = configuration;
  const webhooks = Webhooks.create({
    db,
    client: callbacks,
    scope: identity.signingKey,
    enabled: mode === "credentials",
    clock,
    random,
    schedule,
    logger,
    onAttempt: observers.attempted,
  });
  opened.push(webhooks.close);
  pending.subscribe(webhooks.wake);

  const operations: Operations = {
    isRegistered: () => life.agent() !== null,
    register: life.register,
    status: life.status,
    searchAgents: async (input) => {
      active();
      return searchAgents(registry, input);
    },
    searchConversations: ({ afterAddress }) => {
      active();
      return searchConversations(db, afterAddress);
    },
    readConversation: async (input, gone) => {
      const self = active().card.agentName;
      return readConversation({ db, self, trust, registry, continuations }, input, gone);
    },
    sendMessage: async (input) => sendMessage({ db, agent: active(), registry, random }, input),
    readInbox: ({ cursor }) => {
      active();
      return withReasonsSync(() => Inbox.page(db, cursor));
    },
    acknowledgeDelivery: async (token) => {
      const { turns } = active();
      const acknowledge = (turn: Turn): void => {
        Inbox.acknowledge(turn.db, token, turn.now);
        Occurrence.drop(turn.db, [token], turn.now);
      };
      await withReasons(() => turns.run(acknowledge));
      webhooks.wake();
    },
    readEvent: (eventId) => {
      active();
      return withReasonsSync(() => Inbox.readEvent(db, eventId));
    },
    eventSubscriptionStatus: webhooks.eventSubscriptionStatus,
    revokeEventSubscription: webhooks.revokeEventSubscription,
    resumeEventSubscription: webhooks.resumeEventSubscription,
    holdTools: () => firewall?.holdTools() ?? "kept",
    listHolds: (input) => {
      active();
      return withReasonsSync(() => HoldRows.list(db, input));
    },
    readHold: (holdId) => {
      active();
      return withReasonsSync(() => HoldRows.read(db, holdId));
    },
    discardHold: (holdId) => {
      const { turns } = active();
      return withReasons(() => turns.run((turn) => HoldRows.discard(turn.db, holdId, turn.now)));
    },
    releaseHold: async (holdId) => {
      const { turns } = active();
      const { kind, admitted } = await withReasons(() =>
        turns.run((turn) => HoldRows.release(turn.db, holdId, { now: turn.now, random })),
      );
      if (admitted) pending.emit();
      return { kind };
    },
    pendingCount: () => withReasonsSync(() => Inbox.unreadCount(db)),
    onPending: pending.subscribe,
    onCatalogChanged: catalog.subscribe,
  };

  await life.resume();
  webhooks.start();
  const tokens = Tokens.reader(stateFolder, mode, (explanation) =>
    logger("warn", "a token cannot be used", { explanation }),
  );
  // Once before anybody comes: whoever starts the endpoint hears of a token that opens nothing.
  tokens();
  const health = (): Health.Health =>
    Health.read({
      db,
      agent: life.agent(),
      contactPolicy: configuration,
      network: configuration,
      firewall: firewall?.standing() ?? Firewall.none,
      webhook: webhooks.eventSubscriptionStatus(),
      storeTrouble: storeStanding.trouble(),
      now: clock(),
    });
  const startSecret = StartSecret.create(random);
  const mcp = await startMcpServer({
    operations,
    health,
    owner: {
      evidence: () => Owner.evidence(db),
      wishRound: async (input) => Owner.wishRound(active(), input),
      withdraw: async (input) => Owner.withdraw(active(), input),
      probe: async ({ agentName }) => active().probe(agentName ?? null),
      webhookAttempts: webhooks.webhookAttempts,
      testWebhook: webhooks.testWebhook,
      metrics: () => metrics.text({ health: health(), database: stateFolder.database }),
    },
    consumers: webhooks,
    listen: { host: "127.0.0.1", port: configuration.port },
    authority: { mode, tokens },
    startSecret,
    logger,
    clock,
    random,
    version,
    ...(options.tracer === undefined ? {} : { tracer: options.tracer }),
  });
  const { pid } = process;
  const born = ProcessBirth.of(pid);
  EndpointFile.write(stateFolder, { pid, born, secret: startSecret, mcpUrl: mcp.url, mode, version });
  logger("info", "endpoint ready", { mcpUrl: mcp.url, mode, ...ContactPolicy.describe(configuration) });

  let closing: Promise<void> | undefined;
  const close = async (why: string): Promise<void> => {
    logger("info", "endpoint stopping", { explanation: why });
    EndpointFile.removeOwn(stateFolder, startSecret);
    // Whoever waits is answered first: calls to the Registry fail now, sends are pending.
    life.agent()?.endWaits();
    registry.close();
    await webhooks.close();
    await callbacks.close();
    await mcp.close();
    await life.settled();
    await firewall?.close();
    await life.agent()?.close();
    storeStanding.close();
    db.close();
    logger("info", "endpoint stopped");
    lock.release();
  };

  return {
    mcpUrl: mcp.url,
    health,
    close: (why = "its program closed it") => (closing ??= close(why)),
  };
};
