// How the endpoint stands, for its owner: what `GET /readyz` answers and `status` shows. Read at the moment of asking, from
// the store and from the running agent; never served to a runtime. Implements MGT-14, MGT-180, MGT-181, ING-201,
// RUN-17 and RUN-113.

import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { ActiveAgent } from "../conversations/ActiveAgent.ts";
import type { ContactPolicy } from "../conversations/ContactPolicy.ts";
import * as LostMemory from "../conversations/LostMemory.ts";
import type * as Firewall from "../firewall/Firewall.ts";
import * as HoldRows from "../firewall/HoldRows.ts";
import * as Queue from "../firewall/Queue.ts";
import * as Inbox from "../ingress/Inbox.ts";
import type { Configuration } from "../state/Configuration.ts";
import type { Database } from "../store/Database.ts";
import type { StoreFault } from "../store/StoreFault.ts";
import type { StoreTrouble } from "../store/StoreStanding.ts";
import * as Equivocations from "../transport/Equivocations.ts";
import { refusing, type RouterState, type RouterTrouble } from "../transport/RouterStanding.ts";
import * as RouterTerms from "../transport/RouterTerms.ts";
import type { EventSubscriptionStatus } from "./EventSubscription.ts";
import * as PendingPosts from "./PendingPosts.ts";

export interface Health {
  readonly registered: boolean;
  readonly routerConnected: boolean;
  /** UTC of the last change between connected and not; null before registration. */
  readonly routerSince: string | null;
  /** Why the Router is not connected, or null. */
  readonly routerTrouble: RouterTrouble | null;
  /** That the connected Router takes nothing that it is sent, or null; `since` in UTC. */
  readonly routerRefusing: { readonly since: string; readonly explanation: string } | null;
  /** Places in a lane for which the Router signed two orders; the proofs are kept. */
  readonly routerEquivocations: number;
  /** How the log ended that the Router had before its present one, or null; `routerChanged.at` in UTC. */
  readonly routerChanged: {
    readonly reason: RouterTerms.Ending;
    readonly at: string;
    readonly explanation: string;
  } | null;
  /** Conversations whose members have yet to go on in a new round since then. */
  readonly conversationsChanging: number;
  /** That the state folder was found to be an old copy or without its store, or null: never, or over for long. */
  readonly restored: {
    /** UTC. */
    readonly at: string;
    /** How many conversations have yet to recover. */
    readonly conversations: number;
    /** Which ones: at most `shownMax`, in byte order. */
    readonly addresses: ReadonlyArray<string>;
    readonly explanation: string;
  } | null;
  /** Unacknowledged items of the inbox. */
  readonly pendingItems: number;
  /** Of the firewall, or null where there is none and none has left anything. While its file is unusable every message is held. */
  readonly firewall:
    | (Firewall.Standing & {
        readonly heldItems: number;
        /** Items that are being judged or wait for it. */
        readonly queuedItems: number;
      })
    | null;
  /** How the webhook stands that takes the items, or null where none is registered. */
  readonly webhook: Omit<Extract<EventSubscriptionStatus, { readonly kind: "subscription" }>, "kind"> | null;
  /** Own posts that are neither certified nor ended. */
  readonly pendingPosts: number;
  /** Where they go, at most `shownMax`, in byte order. */
  readonly pendingAddresses: ReadonlyArray<string>;
  /** How many of them are being withdrawn. */
  readonly withdrawingPosts: number;
  /** What each of them waits for: at most `shownMax`, the newest first. */
  readonly pending: ReadonlyArray<PendingPosts.PendingPost>;
  readonly outboxEnvelopes: number;
  /** What keeps the store from its work, or null; `since` in UTC. */
  readonly storeTrouble: {
    readonly reason: StoreFault;
    readonly since: string;
    readonly explanation: string;
  } | null;
  /** Where the network is that this endpoint was started with. */
  readonly registryUrl: string;
  readonly routerUrl: string;
  /** The contact policy in force. */
  readonly contacts: "everyone" | "known" | ReadonlyArray<AgentName>;
  readonly blocked: ReadonlyArray<AgentName>;
}

/** As many as a person reads; the count beside them is complete. */
const shownMax = 100;

/** That all recovered stays news for as long as its owner may take to look. */
const recoveredShownMs = 7 * 86_400_000;

const changeOf = (former: RouterTerms.FormerTerm | null): Health["routerChanged"] =>
  former === null
    ? null
    : {
        reason: former.ending,
        at: new Date(former.endedAt).toISOString(),
        explanation: RouterTerms.explain(former.ending),
      };

const refusingOf = (router: RouterState | null): Health["routerRefusing"] => {
  const since = router?.refusingSince ?? null;
  return since === null ? null : { since: new Date(since).toISOString(), explanation: refusing };
};

const restoredOf = (db: Database, now: number): Health["restored"] => {
  const at = LostMemory.notedAt(db);
  if (at === null) return null;
  const conversations = LostMemory.countRecovering(db);
  if (conversations === 0 && LostMemory.backSince(db, at) + recoveredShownMs <= now) return null;
  return {
    at: new Date(at).toISOString(),
    conversations,
    addresses: LostMemory.recoveringAddresses(db, shownMax),
    explanation: LostMemory.explain(conversations),
  };
};

const firewallOf = (db: Database, standing: Firewall.Standing): Health["firewall"] => {
  const [heldItems, queuedItems] = [HoldRows.count(db), Queue.count(db)];
  if (standing.file === "absent" && heldItems + queuedItems === 0) return null;
  return { ...standing, heldItems, queuedItems };
};

const webhookOf = (status: EventSubscriptionStatus): Health["webhook"] => {
  if (status.kind === "none") return null;
  const { kind: _, ...standing } = status;
  return standing;
};

const storeTroubleOf = (trouble: StoreTrouble | null): Health["storeTrouble"] =>
  trouble === null ? null : { ...trouble, since: new Date(trouble.since).toISOString() };

export interface HealthOptions {
  readonly db: Database;
  /** null before registration. */
  readonly agent: ActiveAgent | null;
  readonly contactPolicy: ContactPolicy;
  readonly network: Pick<Configuration, "registryUrl" | "routerUrl">;
  readonly firewall: Firewall.Standing;
  readonly webhook: EventSubscriptionStatus;
  /** Null while the store works. */
  readonly storeTrouble: StoreTrouble | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Throws when the store cannot be read. */
export const read = (options: HealthOptions): Health => {
  const { db, agent, now } = options;
  const { contacts, blocked } = options.contactPolicy;
  const router = agent?.router() ?? null;
  return {
    registered: agent !== null,
    routerConnected: agent?.link.connected() ?? false,
    routerSince: router === null ? null : new Date(router.since).toISOString(),
    routerTrouble: router?.trouble ?? null,
    routerRefusing: refusingOf(router),
    routerEquivocations: Equivocations.count(db),
    routerChanged: changeOf(RouterTerms.lastFormer(db)),
    conversationsChanging: RouterTerms.countUnderEarlier(db),
    restored: restoredOf(db, now),
    pendingItems: Inbox.unreadCount(db),
    firewall: firewallOf(db, options.firewall),
    webhook: webhookOf(options.webhook),
    pendingPosts: PendingPosts.count(db),
    pendingAddresses: PendingPosts.addresses(db, shownMax),
    withdrawingPosts: PendingPosts.countWithdrawing(db),
    pending: agent === null ? [] : PendingPosts.newest(db, agent.card.agentId, shownMax),
    outboxEnvelopes: Number(db.get("SELECT count(*) AS n FROM outbox")?.["n"]),
    storeTrouble: storeTroubleOf(options.storeTrouble),
    registryUrl: options.network.registryUrl,
    routerUrl: options.network.routerUrl,
    contacts,
    blocked,
  };
};

/**
 * In one word of a closed set why the endpoint does not do everything that is in its own hands; null when it does. What waits
 * for other members waits for them.
 */
export const unreadyCause = ({
  registered,
  routerConnected,
  routerTrouble,
  storeTrouble,
}: Health): string | null => {
  if (storeTrouble !== null) return `store-${storeTrouble.reason}`;
  if (!registered) return "unregistered";
  return routerConnected ? null : `router-${routerTrouble?.reason ?? "connecting"}`;
};
