// Everything that runs once an agent is registered: its turns, conversations, mailbox, outbox, inbox admission and timers.
// Composes; the rules live in the parts. One per process and store.

import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type {
  AgentId,
  ConversationId,
  PostId,
  SigningKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";
import { intentLifetimeMs } from "@social-harness/protocol/Limits";
import { type RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import {
  createRouterClient,
  type RouterClient,
  type RouterClientOptions,
} from "@social-harness/router/client/RouterClient";
import type { Logger } from "@social-harness/router/Logger";
import { createOpener, createSealer } from "@social-harness/router/seal/Sealing";
import type { SealingSecret } from "@social-harness/router/seal/SealingKeys";
import type { Firewall } from "../firewall/Firewall.ts";
import { namesOf } from "../ingress/Classify.ts";
import { createCheckpoint } from "../store/Checkpoint.ts";
import { type Database, isStoreFailure } from "../store/Database.ts";
import type { StoreStanding } from "../store/StoreStanding.ts";
import * as Turns from "../store/Turns.ts";
import { type Canary, createCanary } from "../transport/Canary.ts";
import * as Cards from "../transport/Cards.ts";
import { createInbound } from "../transport/Inbound.ts";
import { createOutboxSender, enqueue, type Enqueued, forget } from "../transport/Outbox.ts";
import { createOwnCopies } from "../transport/OwnCopies.ts";
import { createRouterLink, type RouterLink } from "../transport/RouterLink.ts";
import { createRouterStanding, refusing, type RouterState } from "../transport/RouterStanding.ts";
import * as ContactPolicy from "./ContactPolicy.ts";
import { admitCommitted, type Admitted } from "./Admission.ts";
import { type Conversation, idsWithIntentsSince, intentCreatedAt } from "./ConversationRows.ts";
import {
  type Asked,
  type Conversations,
  createConversations,
  emptyWork,
  type EndedIntent,
  type Turn,
  type Work,
} from "./Conversations.ts";
import { createTimers } from "./Timers.ts";

export interface ActiveAgentOptions {
  readonly db: Database;
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  readonly sealingSecret: SealingSecret;
  readonly trust: Trust;
  readonly contactPolicy: ContactPolicy.ContactPolicy;
  readonly routerUrl: string;
  readonly routerKey: SigningKey;
  /** Names proxies for the way to the Router. */
  readonly proxyEnvironment?: RouterClientOptions["proxyEnvironment"];
  readonly registry: RegistryClient;
  readonly clock: () => number;
  readonly random: (byteCount: number) => Uint8Array;
  readonly logger: Logger;
  readonly storeStanding: Pick<StoreStanding, "trouble" | "subscribe">;
  /** Stands between classification and inbox, where there is one. */
  readonly firewall?: Pick<Firewall, "admit" | "committed">;
  /** Commits raised the number of unacknowledged items. */
  readonly onAdmitted: () => void;
  /** Told after each commit what it brought. */
  readonly observer?: Observer;
}

/** Who counts what commits bring. */
export interface Observer {
  /** So many records became certified here: own posts and those of others. */
  readonly certified: (records: number) => void;
  /** An own post ended. Both times are epoch milliseconds. */
  readonly ended: (post: EndedIntent, takenAt: number, endedAt: number) => void;
}

export interface ActiveAgent {
  readonly card: AgentCard.AgentCard;
  readonly turns: Turns.Turns<Work>;
  readonly conversations: Conversations;
  readonly link: RouterLink;
  /** How the connection to the Router stands. */
  readonly router: () => RouterState;
  /** Resolves with how a post ended, or null when `waitMs` pass first. */
  readonly waitFor: (postId: PostId, waitMs: number) => Promise<EndedIntent["outcome"] | null>;
  /** Answers everybody who waits, now and from now on, as if their time were over. */
  readonly endWaits: () => void;
  /** Asks this agent, or another one, a question that changes nothing. */
  readonly probe: Canary["send"];
  readonly close: () => Promise<void>;
}

/** Accepted envelopes are forgotten with the next turn, or after this long: an fsync of their own would buy nothing. */
const forgetAfterMs = 250;
/** Intents that nobody proposed expire by this sweep; their lifetime is counted in days. */
const sweepMs = 3_600_000;
const lookupRetryMs = 5_000;

/** Called once with how a post ended, or with null when it has not in time. */
type Waiter = (outcome: EndedIntent["outcome"] | null) => void;

export const startActiveAgent = async (options: ActiveAgentOptions): Promise<ActiveAgent> => {
  const { db, card, signer, trust, clock, random, logger, storeStanding } = options;
  const timers = createTimers(clock);
  const ownCopies = createOwnCopies();
  const standing = createRouterStanding(clock);
  const waiters = new Map<PostId, Set<Waiter>>();
  let closing = false;
  const packing = { card, signer, sealer: createSealer({ random, clock }), random, ownCopies };
  const { firewall, observer } = options;
  const admission = {
    self: card.agentId,
    random,
    logger,
    ...(firewall === undefined ? {} : { admit: firewall.admit }),
    namesOf: (turn: Turn, id: ConversationId) => namesOf(knownIn(turn, id).members.cards),
  };
  let client: RouterClient | null = null;
  let admitted: Admitted = { raised: false, hasMore: true };
  let admittedInTurn = admitted;
  let enqueuedInTurn: ReadonlyArray<Enqueued> = [];
  const checkpoint = createCheckpoint(db);

  const knownIn = (turn: Turn, id: ConversationId): Conversation => {
    const conversation = conversations.get(turn, id);
    if (conversation === null) throw new Error("a record of a conversation that does not exist");
    return conversation;
  };

  const conversations = createConversations({
    self: card.agentId,
    signer,
    trust,
    logger,
    connection: () => link.connection(),
    admits: (author) => ContactPolicy.admits(db, options.contactPolicy, author),
  });

  const turns: Turns.Turns<Work> = Turns.create<Work>(db, clock, {
    initial: emptyWork,
    flush: (turn) => {
      forget(db, sender.accepted());
      conversations.flush(turn);
      const conversationOf = (id: ConversationId): Asked => {
        const conversation = conversations.get(turn, id) ?? turn.state.asked.get(id);
        if (conversation === undefined) throw new Error("a send of a conversation that does not exist");
        return conversation;
      };
      // Only an endpoint that may sign says anything; what it would have said, it says again once it is connected.
      const sends = link.mayEnqueue() ? turn.state.sends : [];
      enqueuedInTurn = enqueue(db, sends, conversationOf, packing);
      admittedInTurn = admitCommitted(turn, { ...admission, more: admitted.hasMore });
      checkpoint.count(turn.state.commits);
    },
    committed: ({ state, now }) => {
      sender.forgotten();
      admitted = admittedInTurn;
      checkpoint.committed();
      conversations.publish(state);
      // Others wait for what leaves; whoever is told here can wait for that.
      sender.pump(enqueuedInTurn);
      observe(state, now);
      for (const { postId, outcome } of state.ended) {
        for (const ended of waiters.get(postId) ?? []) ended(outcome);
      }
      if (admitted.raised) options.onAdmitted();
      firewall?.committed();
      if (state.lostMemory) tellForgotten(null);
      if (admitted.hasMore) void turns.run(() => undefined).catch(() => undefined);
      timers.wakeAt(conversations.nextWake(), fireTimers);
    },
  });

  const observe = ({ commits, ended }: Work, now: number): void => {
    if (observer === undefined) return;
    observer.certified(commits);
    for (const post of ended) {
      const takenAt = intentCreatedAt(db, post.postId);
      if (takenAt !== null) observer.ended(post, takenAt, now);
    }
  };

  /** Without a connection there is nothing that time could bring about; the next one takes the timers up again. */
  const fireTimers = (at: number): void => {
    if (!link.mayEnqueue()) return;
    void turns
      .run((turn) => {
        const due = conversations.due(Math.max(turn.now, at));
        conversations.feedEach(turn, due, { kind: "tick" });
      })
      .catch((error: unknown) => {
        if (!isStoreFailure(error))
          logger("error", "a timer met a defect; it is tried again", { error: String(error) });
        timers.wakeAt(clock() + lookupRetryMs, fireTimers);
      });
  };

  /** Tells the conversations of the lost memory, some in each turn; one that is needed before is told then. */
  const tellForgotten = (after: ConversationId | null): void => {
    turns
      .run((turn) => conversations.tellSome(turn, after), "soon")
      .then((last) => {
        if (last !== null) tellForgotten(last);
      })
      .catch((error: unknown) => {
        if (closing) return;
        if (!isStoreFailure(error))
          logger("error", "the lost memory could not be told; it is tried again", { error: String(error) });
        timers.once("tell", lookupRetryMs, () => tellForgotten(null));
      });
  };

  const sender = createOutboxSender({
    db,
    logger,
    send: (text, messageId) => (client as RouterClient).send(text, messageId),
    maySend: () => link.mayEnqueue(),
    onAccepted: () =>
      timers.once("forget", forgetAfterMs, () => void turns.run(() => undefined).catch(() => undefined)),
  });

  const opener = createOpener({ agentId: card.agentId, sealingKey: options.sealingSecret });
  const inbound = createInbound({
    card,
    trust,
    routerKey: options.routerKey,
    opener,
    conversations,
    logger,
  });

  const lookUp = (agentId: AgentId): void => {
    options.registry
      .lookupById(agentId)
      .then((found) =>
        turns.run((turn) => {
          if (found === null)
            logger("warn", "what needs the card of an unregistered agent is dropped", { agent: agentId });
          else Cards.keep(turn.db, found);
          inbound.releaseHeld(turn, agentId);
        }),
      )
      .catch((error: unknown) => {
        if (!(error instanceof RegistryError) && !isStoreFailure(error))
          logger("error", "held envelopes stay", { error: String(error) });
        timers.once(`lookup ${agentId}`, lookupRetryMs, () => lookUp(agentId));
      });
  };

  const link: RouterLink = createRouterLink({
    db,
    turns,
    conversations,
    inbound,
    logger,
    acknowledge: (cursor) => client?.ack(cursor),
    underway: sender.underway,
    refuse: () => client?.refuse(),
    onUnknownCard: lookUp,
    ownCopyOf: ownCopies.take,
    isUnawaited: ({ envelope }, own) => envelope.senderAgentId === card.agentId && own?.isAwaited !== true,
  });

  const canary = createCanary({
    card,
    verifier: trust.verifier,
    opener,
    turns,
    conversations,
    mayEnqueue: link.mayEnqueue,
    timers,
    clock,
    random,
  });

  client = createRouterClient({
    url: options.routerUrl,
    routerKey: options.routerKey,
    ...(options.proxyEnvironment === undefined ? {} : { proxyEnvironment: options.proxyEnvironment }),
    card,
    signer,
    verifier: trust.verifier,
    random,
    logger,
    onReady: (ready) => {
      const seconds = standing.connected();
      const again = seconds === null ? {} : { explanation: `again, after ${seconds} s` };
      logger("info", "the Router is connected", again);
      link.onReady(ready);
    },
    onDeliver: (delivery) => {
      const taken = link.onDeliver(delivery);
      canary.see(delivery);
      return taken;
    },
    onGap: link.onGap,
    onTaking: (taking) => {
      standing.taking(taking);
      if (taking) logger("info", "the Router takes what is sent again");
      else logger("warn", "the Router takes nothing at the moment", { explanation: refusing });
    },
    onDisconnected: (reason, cause) => {
      const trouble = standing.disconnected(reason, cause);
      // A store in trouble has been said already, and ends the connection.
      const isSaid = reason === "delivery-failed" && storeStanding.trouble() !== null;
      if (trouble !== null && !isSaid) logger("warn", "the Router is not connected", { ...trouble });
      link.onDisconnected(reason);
    },
  });

  /** Expiry needs no connection: only intents that nobody has seen end by it. */
  const expire = (turn: Turn): void =>
    conversations.feedEach(turn, idsWithIntentsSince(turn.db, turn.now - intentLifetimeMs), { kind: "tick" });

  const begin = (turn: Turn): void => {
    Cards.keep(turn.db, card);
    expire(turn);
    conversations.feedEach(turn, conversations.active(turn), { kind: "resumed" });
  };
  try {
    await turns.run(begin);
  } catch (error) {
    timers.close();
    await turns.close();
    throw error;
  }
  tellForgotten(null);
  for (const row of db.all("SELECT DISTINCT sender_agent_id FROM held_envelope")) {
    lookUp(row["sender_agent_id"] as AgentId);
  }
  timers.every(sweepMs, () => {
    void turns.run(expire).catch((error: unknown) => {
      if (!isStoreFailure(error)) logger("error", "a sweep met a defect", { error: String(error) });
    });
  });
  client.start();
  const running = client;
  // What a Router delivers now could not be kept. Once it can, everything that waited goes on at once. A damaged page may be
  // nobody's but one old record's, so the mailbox goes on as far as it comes.
  const unwatch = storeStanding.subscribe((trouble) => {
    if (trouble !== null) return trouble.reason === "damaged" ? running.resume() : running.pause();
    running.resume();
    void turns.run(() => undefined).catch(() => undefined);
  });
  /** Spares the next start some work; without it nothing is lost. */
  const closeBooks = (): void => {
    try {
      db.transaction(() => {
        forget(db, sender.accepted());
        checkpoint.settle();
      });
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
    }
  };
  const endWaits = (): void => {
    closing = true;
    for (const resolvers of waiters.values()) for (const ended of resolvers) ended(null);
  };

  return {
    card,
    turns,
    conversations,
    link,
    router: standing.state,
    waitFor: (postId, waitMs) =>
      new Promise((resolve) => {
        if (closing) return resolve(null);
        const resolvers = waiters.get(postId) ?? new Set();
        const stop = timers.after(waitMs, () => ended(null));
        const ended: Waiter = (outcome) => {
          stop();
          resolvers.delete(ended);
          if (resolvers.size === 0) waiters.delete(postId);
          resolve(outcome);
        };
        waiters.set(postId, resolvers.add(ended));
      }),
    probe: canary.send,
    endWaits,
    close: async () => {
      endWaits();
      unwatch();
      await running.close();
      timers.close();
      await turns.close();
      closeBooks();
    },
  };
};
