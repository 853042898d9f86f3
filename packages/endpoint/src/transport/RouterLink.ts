// The endpoint's side of its Router connection: every delivery becomes one piece of work in a turn, its cursor is
// acknowledged after the commit, and voting waits until the mailbox is folded to the tail that the Router named.
// A delivery that the store could not take comes again on the next connection. Another instance, or a log that went back,
// begins a new term, and conversations under anchors of earlier ones go on in a new round. A Router that knows more of this
// agent than the store does shows that the store is an old copy.
// Implements HIS-36, HIS-48, HIS-51, HIS-130, HIS-132, HIS-135 and RUN-63.

import type { AgentId, ConversationId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import type { Delivery, DisconnectReason, Gap, ReadyState } from "@social-harness/router/client/RouterClient";
import { allIds, type Conversation } from "../conversations/ConversationRows.ts";
import type { Connection, Conversations, Turn, Work } from "../conversations/Conversations.ts";
import * as LostMemory from "../conversations/LostMemory.ts";
import { type Database, isStoreFailure } from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";
import type { Pace, Turns } from "../store/Turns.ts";
import type { Inbound } from "./Inbound.ts";
import * as Outbox from "./Outbox.ts";
import type { OwnCopy } from "./OwnCopies.ts";
import * as RouterTerms from "./RouterTerms.ts";

export interface RouterLinkOptions {
  readonly db: Database;
  readonly turns: Turns<Work>;
  readonly conversations: Conversations;
  readonly inbound: Inbound;
  readonly logger: Logger;
  /** Tells the Router that everything up to a cursor is on disk here. */
  readonly acknowledge: (cursor: number) => void;
  /** An agent's card is needed and nobody here has it. */
  readonly onUnknownCard: (agentId: AgentId) => void;
  /** What this process said, when the delivery is a copy of that. */
  readonly ownCopyOf: (delivery: Delivery) => OwnCopy | null;
  /** Whether nothing waits for this delivery: a copy of what this agent sent, whose effect is already here. */
  readonly isUnawaited: (delivery: Delivery, own: OwnCopy | null) => boolean;
  /** Envelopes of this process that the Router may accept without having said so yet. */
  readonly underway: () => number;
  /** Ends the connection, because what it delivered could not be kept. */
  readonly refuse: () => void;
}

export interface RouterLink {
  readonly onReady: (ready: ReadyState) => void;
  readonly onDeliver: (delivery: Delivery) => void | Promise<void>;
  readonly onGap: (gap: Gap) => Promise<void>;
  readonly onDisconnected: (reason: DisconnectReason) => void;
  readonly connection: () => Connection;
  readonly connected: () => boolean;
  /** Connected to a Router that the store is bound to: only then is anything put into the outbox or sent from it. */
  readonly mayEnqueue: () => boolean;
  readonly lastDisconnect: () => DisconnectReason | null;
}

/** Deliveries that may wait for their turns before the socket is made to wait. */
const waitingMax = 256;
/** Conversations that begin a new round in one turn: each signs and seals, and others wait for the turn. */
const wishesPerTurn = 32;

/** One connection's view of the mailbox. A failed delivery breaks it: nothing after it may be taken. */
interface Session {
  readonly routerInstanceId: RouterInstanceId;
  readonly tail: number;
  /** What the Router knows or will know to be acknowledged: it need not deliver anything up to here. */
  readonly floor: number;
  /** The log went back in this session: what comes again may be something else. */
  retaking: boolean;
  /** The store remembers logs before this one. */
  hasFormer: boolean;
  /** The store is bound to this connection's instance: before that nothing may leave. */
  bound: boolean;
  folded: boolean;
  broken: boolean;
  waiting: number;
}

export const createRouterLink = (options: RouterLinkOptions): RouterLink => {
  const { db, turns, conversations, inbound, logger } = options;
  let session: Session | null = null;
  let lastDisconnect: DisconnectReason | null = null;
  /** The highest cursor that this process acknowledged to an instance; the client says it again on each connection. */
  let acknowledged: { readonly routerInstanceId: RouterInstanceId; readonly cursor: number } | null = null;

  const acknowledge = ({ routerInstanceId }: Session, cursor: number): void => {
    const before = acknowledged?.routerInstanceId === routerInstanceId ? acknowledged.cursor : 0;
    acknowledged = { routerInstanceId, cursor: Math.max(before, cursor) };
    options.acknowledge(cursor);
  };

  /** As the client does it: an acknowledgment beyond the mailbox's end means nothing any more. */
  const floorOf = ({ routerInstanceId, acknowledgedCursor, tailCursor }: ReadyState): number => {
    const isGood = acknowledged?.routerInstanceId === routerInstanceId && acknowledged.cursor <= tailCursor;
    if (!isGood) acknowledged = null;
    return Math.max(acknowledgedCursor, acknowledged?.cursor ?? 0);
  };

  const foldIfAtTail = (turn: Turn, current: Session, cursor: number): void => {
    if (current.folded || cursor < current.tail) return;
    current.folded = true;
    conversations.feedEach(turn, conversations.active(turn), { kind: "folded" });
    changeRounds(turn, current, null);
  };

  /** Has the conversations whose anchor is of an earlier term wish for a round, some in each turn. */
  const changeRounds = (turn: Turn, current: Session, after: ConversationId | null): void => {
    const ids = RouterTerms.idsUnderEarlier(turn.db, after, wishesPerTurn);
    const settled = ids.filter((id) => !isChanging(turn, current, id));
    if (settled.length > 0) conversations.feedEach(turn, settled, { kind: "wish-round" });
    const last = ids.at(-1);
    if (ids.length < wishesPerTurn || last === undefined) return;
    void inOrder(current, (next) => changeRounds(next, current, last), "soon");
  };

  /** Whether a round is under way already, and can still be had: a statement that names another instance cannot serve. */
  const isChanging = (turn: Turn, { routerInstanceId }: Session, conversationId: ConversationId): boolean => {
    const { anchor, rounds } = (conversations.get(turn, conversationId) as Conversation).state;
    const isStale = rounds.own !== null && rounds.own.statement.routerInstanceId !== routerInstanceId;
    return !isStale && Math.max(rounds.bound, rounds.wish) > (anchor?.round ?? 0);
  };

  /**
   * Runs work of the mailbox in order. The first failure breaks the session, so that nothing overtakes what failed, and
   * ends its connection, so that it comes again. False when the connection was over before it was its turn.
   */
  const inOrder = async (current: Session, work: (turn: Turn) => void, pace?: Pace): Promise<boolean> => {
    current.waiting++;
    try {
      return await turns.run((turn) => {
        if (current.broken || current !== session) return false;
        try {
          work(turn);
        } catch (error) {
          current.broken = true;
          throw error;
        }
        return true;
      }, pace);
    } catch (error) {
      current.broken = true;
      current.folded = false;
      // Whether the store is bound to this Router is what failed, perhaps: nothing leaves over what is left of the connection.
      current.bound = false;
      if (!isStoreFailure(error))
        logger("error", "the mailbox could not be taken further; it comes again", { error: String(error) });
      if (current === session) options.refuse();
      return false;
    } finally {
      current.waiting--;
    }
  };

  const take = async (current: Session, delivery: Delivery): Promise<void> => {
    let unknown: ReadonlyArray<AgentId> = [];
    const own = options.ownCopyOf(delivery);
    const work = (turn: Turn): void => {
      const cursor = Settings.integer(turn.db, "router_cursor");
      if (delivery.cursor > cursor + 1) throw new Error("the Router skipped a cursor without naming a gap");
      const isNew = delivery.cursor > cursor;
      const takeIn = () => inbound.take(turn, delivery, current, own);
      let arrival =
        isNew || current.retaking ? takeIn() : inbound.takeAgain(turn, delivery, current.routerInstanceId);
      if (arrival.kind === "contradiction") {
        rollBack(turn, current, Math.max(delivery.cursor - 1, current.floor), null);
        arrival = takeIn();
        if (arrival.kind === "contradiction") throw new Error("the Router signed a lane head of nothing");
      }
      unknown = arrival.kind === "held" ? [arrival.sender] : (arrival.strangers ?? []);
      const reached = Math.max(Settings.integer(turn.db, "router_cursor"), delivery.cursor);
      if (isNew || current.retaking) Settings.put(turn.db, "router_cursor", reached);
      foldIfAtTail(turn, current, reached);
    };
    const isTaken = await inOrder(current, work, options.isUnawaited(delivery, own) ? "soon" : "now");
    if (!isTaken) return;
    acknowledge(current, delivery.cursor);
    for (const agentId of unknown) options.onUnknownCard(agentId);
  };

  const takeGap = async (current: Session, { fromCursor, toCursor }: Gap): Promise<void> => {
    const isTaken = await inOrder(current, (turn) => {
      if (toCursor <= Settings.integer(turn.db, "router_cursor")) return;
      logger("warn", "the Router no longer holds a part of the mailbox", { from: fromCursor, to: toCursor });
      conversations.feedEach(turn, allIds(turn.db), { kind: "gap" });
      Settings.put(turn.db, "router_cursor", toCursor);
      foldIfAtTail(turn, current, toCursor);
    });
    if (isTaken) acknowledge(current, toCursor);
  };

  /** The log went back: what it says from a cursor on is a new beginning, in which nothing is signed before its end. */
  const rollBack = (turn: Turn, current: Session, cursor: number, tail: number | null): void => {
    logger("error", "the Router took back an order that it had signed; conversations go on in new rounds", {
      cursor: Settings.integer(turn.db, "router_cursor"),
      from: cursor,
    });
    RouterTerms.rollBack(turn.db, cursor, tail, turn.now);
    current.folded = false;
    current.retaking = true;
    current.hasFormer = true;
  };

  /** Binds the store to the connection's Router before anything leaves for it. */
  const bind = (turn: Turn, current: Session, ready: ReadyState): void => {
    const isLost = RouterTerms.judge(turn.db, ready) === "lost-memory";
    const bound = Settings.text(turn.db, "router_instance_id");
    if (isLost) Outbox.drop(turn.db);
    if (bound !== ready.routerInstanceId) {
      if (bound !== null) {
        logger("warn", "another Router instance; conversations go on in new rounds", {
          instance: ready.routerInstanceId,
        });
      }
      RouterTerms.bind(turn.db, ready.routerInstanceId, turn.now);
    }
    // One durable step: from its commit on the loss is not found again, and no conversation signs before it is told.
    if (isLost) {
      RouterTerms.takeOver(turn.db, ready, options.underway());
      // Nothing has left a store that was never bound: what it has noted before is this loss.
      if (bound !== null || LostMemory.notedAt(turn.db) === null) conversations.loseMemory(turn);
    }
    if (RouterTerms.judge(turn.db, ready) === "rolled-back") {
      rollBack(turn, current, current.floor, ready.tailCursor);
    }
    current.hasFormer = RouterTerms.hasFormer(turn.db);
    current.bound = true;
  };

  return {
    onReady: (ready) => {
      const current: Session = {
        routerInstanceId: ready.routerInstanceId,
        tail: ready.tailCursor,
        floor: floorOf(ready),
        retaking: false,
        hasFormer: true,
        bound: false,
        folded: false,
        broken: false,
        waiting: 0,
      };
      session = current;
      lastDisconnect = null;
      void inOrder(current, (turn) => {
        bind(turn, current, ready);
        foldIfAtTail(turn, current, Settings.integer(turn.db, "router_cursor"));
      });
    },
    onDeliver: (delivery) => {
      if (session === null || session.broken)
        throw new Error("an earlier delivery of this connection failed");
      const taken = take(session, delivery);
      return session.waiting > waitingMax ? taken : undefined;
    },
    onGap: (gap) => (session === null ? Promise.resolve() : takeGap(session, gap)),
    onDisconnected: (reason) => {
      session = null;
      lastDisconnect = reason;
    },
    connection: () => ({
      routerInstanceId:
        session?.routerInstanceId ?? (Settings.text(db, "router_instance_id") as RouterInstanceId | null),
      folded: session !== null && session.folded,
    }),
    connected: () => session !== null,
    mayEnqueue: () => session !== null && session.bound,
    lastDisconnect: () => lastDisconnect,
  };
};
