// How the endpoint stands, for its owner: what `GET /readyz` answers and `status` shows. Read at the moment of asking, from
// the store and from the running agent; never served to a runtime. Implements MGT-14 and RUN-17.

import type { ActiveAgent } from "../conversations/ActiveAgent.ts";
import * as LostMemory from "../conversations/LostMemory.ts";
import * as Inbox from "../ingress/Inbox.ts";
import type { Database } from "../store/Database.ts";
import * as Equivocations from "../transport/Equivocations.ts";
import type { RouterTrouble } from "../transport/RouterStanding.ts";
import * as RouterTerms from "../transport/RouterTerms.ts";

export interface Health {
  readonly registered: boolean;
  readonly routerConnected: boolean;
  /** UTC of the last change between connected and not; null before registration. */
  readonly routerSince: string | null;
  /** Why the Router is not connected, or null. */
  readonly routerTrouble: RouterTrouble | null;
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
  /** That the state folder was found to be an old copy, `at` in UTC, and how many conversations have yet to recover, or null. */
  readonly restored: {
    readonly at: string;
    readonly conversations: number;
    readonly explanation: string;
  } | null;
  /** Unacknowledged items of the inbox. */
  readonly pendingItems: number;
  /** Own posts that are neither certified nor ended. */
  readonly pendingPosts: number;
  /** Where they go, at most `addressesMax`, in byte order. */
  readonly pendingAddresses: ReadonlyArray<string>;
  readonly outboxEnvelopes: number;
}

/** As many as a person reads; the count beside them is complete. */
const addressesMax = 100;

const countOf = (db: Database, sql: string): number => Number(db.get(sql)?.["n"]);

const changeOf = (former: RouterTerms.FormerTerm | null): Health["routerChanged"] =>
  former === null
    ? null
    : {
        reason: former.ending,
        at: new Date(former.endedAt).toISOString(),
        explanation: RouterTerms.explain(former.ending),
      };

const restoredOf = (db: Database): Health["restored"] => {
  const at = LostMemory.notedAt(db);
  if (at === null) return null;
  const conversations = LostMemory.countRecovering(db);
  return { at: new Date(at).toISOString(), conversations, explanation: LostMemory.explain(conversations) };
};

/** `agent` is null before registration. Throws when the store cannot be read. */
export const read = (db: Database, agent: ActiveAgent | null): Health => {
  const router = agent?.router() ?? null;
  const waiting = db.all(
    `SELECT address FROM conversation
     WHERE conversation_id IN (SELECT conversation_id FROM intent WHERE outcome IS NULL) ORDER BY address LIMIT ?`,
    addressesMax,
  );
  return {
    registered: agent !== null,
    routerConnected: agent?.link.connected() ?? false,
    routerSince: router === null ? null : new Date(router.since).toISOString(),
    routerTrouble: router?.trouble ?? null,
    routerEquivocations: Equivocations.count(db),
    routerChanged: changeOf(RouterTerms.lastFormer(db)),
    conversationsChanging: RouterTerms.countUnderEarlier(db),
    restored: restoredOf(db),
    pendingItems: Inbox.unreadCount(db),
    pendingPosts: countOf(db, "SELECT count(*) AS n FROM intent WHERE outcome IS NULL"),
    pendingAddresses: waiting.map((row) => row["address"] as string),
    outboxEnvelopes: countOf(db, "SELECT count(*) AS n FROM outbox"),
  };
};

/** Whether the endpoint does everything that is in its own hands: what waits for other members waits for them. */
export const isReady = ({ registered, routerConnected }: Health): boolean => registered && routerConnected;
