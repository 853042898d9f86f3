// A link to a Router without a Router and without what it delivers: a real store, real turns, and a list of what happened.

import { Opaque32, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Delivery, ReadyState } from "@social-harness/router/client/RouterClient";
import { until } from "@social-harness/testkit/network/Until";
import { type Conversations, emptyWork, type Work } from "../../src/conversations/Conversations.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as Turns from "../../src/store/Turns.ts";
import type { Arrival } from "../../src/transport/Inbound.ts";
import { createRouterLink, type RouterLink } from "../../src/transport/RouterLink.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

export const instance = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
const lane = Opaque32.fromBytes(Buffer.alloc(32, 2));

export const ready = (tailCursor: number, more: Partial<ReadyState> = {}): ReadyState => ({
  routerInstanceId: instance,
  acknowledgedCursor: 0,
  tailCursor,
  acceptedSends: 0,
  ...more,
});

/** The link looks at the cursor alone; what a delivery holds is Inbound's. */
export const delivery = (cursor: number): Delivery =>
  ({ cursor, lane, sequence: cursor, envelope: {} }) as Delivery;

export interface Bench {
  readonly db: Database;
  readonly link: RouterLink;
  /** What happened, in order. */
  readonly events: Array<string>;
  readonly cursor: () => number;
  /** What Inbound makes of a cursor; throws when a test wants it to. */
  take: (cursor: number) => Arrival;
  /** The same of a cursor that was passed before. */
  again: (cursor: number) => Arrival;
  beforeCommit: () => void;
  /** Envelopes without a verdict. */
  underway: number;
  /** What wished for a round, by turns. */
  readonly wished: Array<ReadonlyArray<string>>;
  stateOf: (conversationId: string) => object;
}

export const bench = (prepare: (db: Database) => void = () => undefined): Bench => {
  const db = temporaryStore();
  prepare(db);
  const events: Array<string> = [];
  const turns = Turns.create<Work>(db, () => 0, {
    initial: emptyWork,
    flush: () => made.beforeCommit(),
    committed: () => undefined,
  });
  const conversations = {
    active: () => ["active"],
    loseMemory: () => events.push("lost memory"),
    get: (_turn: unknown, id: string) => ({ state: made.stateOf(id) }),
    feedEach: (_turn: unknown, ids: ReadonlyArray<string>, event: { readonly kind: string }) => {
      events.push(`all ${event.kind}`);
      if (event.kind === "wish-round") made.wished.push(ids);
    },
  } as unknown as Conversations;
  const link = createRouterLink({
    db,
    turns,
    conversations,
    inbound: {
      take: (_turn, { cursor }) => {
        events.push(`take ${cursor}`);
        return made.take(cursor);
      },
      takeAgain: (_turn, { cursor }) => {
        events.push(`again ${cursor}`);
        return made.again(cursor);
      },
      releaseHeld: () => undefined,
    },
    logger: (level, event) => level === "error" && events.push(event),
    acknowledge: (cursor) => events.push(`ack ${cursor}`),
    refuse: () => events.push("refuse"),
    onUnknownCard: (agentId) => events.push(`unknown ${agentId}`),
    underway: () => made.underway,
    ownCopyOf: () => null,
    isUnawaited: () => false,
  });
  const made: Bench = {
    db,
    link,
    events,
    cursor: () => Settings.integer(db, "router_cursor"),
    take: () => ({ kind: "taken" }),
    again: () => ({ kind: "taken" }),
    beforeCommit: () => undefined,
    underway: 0,
    wished: [],
    stateOf: () => ({ anchor: { round: 0 }, rounds: { bound: 0, wish: 0, own: null } }),
  };
  return made;
};

/** A store that is bound to the instance and has taken its mailbox in up to a cursor. */
export const boundAt =
  (cursor: number) =>
  (db: Database): void => {
    Settings.put(db, "router_instance_id", instance);
    Settings.put(db, "router_term", 1);
    Settings.put(db, "router_cursor", cursor);
  };

export const settled = (made: Bench, cursor: number): Promise<void> =>
  until("the turns have run", () => made.cursor() === cursor, 2_000);

export const nothingMore = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));
