import { expect } from "vitest";
import { Opaque32, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { Delivery, ReadyState } from "@social-harness/router/client/RouterClient";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Conversations, emptyWork, type Work } from "../../src/conversations/Conversations.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as Turns from "../../src/store/Turns.ts";
import type { Arrival } from "../../src/transport/Inbound.ts";
import { createRouterLink, type RouterLink } from "../../src/transport/RouterLink.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const instance = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
const lane = Opaque32.fromBytes(Buffer.alloc(32, 2));

const ready = (tailCursor: number, more: Partial<ReadyState> = {}): ReadyState => ({
  routerInstanceId: instance,
  acknowledgedCursor: 0,
  tailCursor,
  acceptedSends: 0,
  ...more,
});

/** The link looks at the cursor alone; what a delivery holds is Inbound's. */
const delivery = (cursor: number): Delivery => ({ cursor, lane, sequence: cursor, envelope: {} }) as Delivery;

interface Bench {
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
  /** What wished for a round, by turns. */
  readonly wished: Array<ReadonlyArray<string>>;
  stateOf: (conversationId: string) => object;
}

const bench = (prepare: (db: Database) => void = () => undefined): Bench => {
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
    onUnknownSender: (sender) => events.push(`unknown ${sender}`),
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
    wished: [],
    stateOf: () => ({ anchor: { round: 0 }, rounds: { bound: 0, wish: 0, own: null } }),
  };
  return made;
};

/** A store that is bound to the instance and has taken its mailbox in up to a cursor. */
const boundAt =
  (cursor: number) =>
  (db: Database): void => {
    Settings.put(db, "router_instance_id", instance);
    Settings.put(db, "router_term", 1);
    Settings.put(db, "router_cursor", cursor);
  };

const settled = (made: Bench, cursor: number): Promise<void> =>
  until("the turns have run", () => made.cursor() === cursor, 2_000);

const nothingMore = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));

verifies("HIS-36", "voting begins when the mailbox is folded to the tail that the Router named", async () => {
  const made = bench();
  expect(made.link.connection()).toEqual({ routerInstanceId: null, folded: false });
  made.link.onReady(ready(2));
  made.link.onDeliver(delivery(1));
  await settled(made, 1);
  expect(made.link.connection()).toEqual({ routerInstanceId: instance, folded: false });
  made.link.onDeliver(delivery(2));
  await settled(made, 2);
  await nothingMore();
  expect(made.link.connection().folded).toBe(true);
  expect(made.events).toEqual(["take 1", "ack 1", "take 2", "all folded", "ack 2"]);
  made.link.onDisconnected("connection-lost");
  expect(made.link.connection()).toEqual({ routerInstanceId: instance, folded: false });
  made.link.onReady(ready(2, { acknowledgedCursor: 2 }));
  await until("folded again", () => made.link.connection().folded);
  expect(made.events.at(-1)).toBe("all folded");
});

verifies(
  "HIS-36",
  "an empty mailbox is folded at once, and one that ends in a gap when the gap is taken",
  async () => {
    const empty = bench();
    empty.link.onReady(ready(0));
    await until("folded", () => empty.link.connection().folded);
    const made = bench();
    made.link.onReady(ready(3));
    made.link.onDeliver(delivery(1));
    await made.link.onGap({ fromCursor: 2, toCursor: 3 });
    expect(made.cursor()).toBe(3);
    expect(made.events).toEqual(["take 1", "all gap", "all folded", "ack 1", "ack 3"]);
    expect(made.link.connection().folded).toBe(true);
  },
);

verifies(
  "RUN-52",
  "a delivery that could not be kept ends the connection and comes again; nothing overtakes it",
  async () => {
    const made = bench();
    made.link.onReady(ready(3));
    await nothingMore();
    made.beforeCommit = () => {
      throw new Error("no room");
    };
    made.link.onDeliver(delivery(1));
    await until("it failed", () => made.events.includes("refuse"));
    made.beforeCommit = () => undefined;
    expect(() => made.link.onDeliver(delivery(2))).toThrow("earlier delivery");
    expect(made.cursor()).toBe(0);
    expect(made.events.filter((event) => event.startsWith("ack"))).toEqual([]);
    made.link.onDisconnected("delivery-failed");
    made.link.onReady(ready(3));
    for (const cursor of [1, 2, 3]) made.link.onDeliver(delivery(cursor));
    await settled(made, 3);
    await nothingMore();
    expect(made.events.slice(-3)).toEqual(["ack 1", "ack 2", "ack 3"]);
  },
);

verifies(
  "RUN-52",
  "a delivery that throws holds up those behind it in the same turn, and none before it",
  async () => {
    const made = bench();
    made.link.onReady(ready(3));
    made.take = (cursor) => {
      if (cursor === 2) throw new Error("the disk is full");
      return { kind: "taken" };
    };
    for (const cursor of [1, 2, 3]) made.link.onDeliver(delivery(cursor));
    await until("it failed", () => made.events.includes("refuse"));
    expect(made.cursor()).toBe(1);
    expect(made.events.filter((event) => event.startsWith("take"))).toEqual(["take 1", "take 2"]);
    expect(made.events.filter((event) => event.startsWith("ack"))).toEqual(["ack 1"]);
  },
);

verifies(
  "HIS-41",
  "deliveries of a connection that is over have no effect, and repeated cursors are acknowledged",
  async () => {
    const made = bench(boundAt(5));
    made.link.onReady(ready(6, { acknowledgedCursor: 3 }));
    made.link.onDeliver(delivery(4));
    made.link.onDisconnected("connection-lost");
    made.link.onReady(ready(6, { acknowledgedCursor: 3 }));
    for (const cursor of [4, 5, 6]) made.link.onDeliver(delivery(cursor));
    await settled(made, 6);
    await nothingMore();
    expect(made.events).toEqual(["again 4", "again 5", "take 6", "all folded", "ack 4", "ack 5", "ack 6"]);
  },
);

verifies("HIS-51", "a cursor that was passed over without a gap is no delivery", async () => {
  const made = bench();
  made.link.onReady(ready(3));
  made.link.onDeliver(delivery(2));
  await until("it is refused", () => made.events.includes("refuse"));
  expect(made.events).not.toContain("take 2");
  expect(made.cursor()).toBe(0);
});

const standings: ReadonlyArray<readonly [string, ReadyState, (db: Database) => void]> = [
  ["a send that it does not know", ready(0, { acceptedSends: 1 }), () => undefined],
  ["an acknowledgment that it does not know", ready(4, { acknowledgedCursor: 3 }), boundAt(2)],
  [
    "a past with an instance that is new to it",
    ready(4, { acknowledgedCursor: 3 }),
    (db) => {
      boundAt(9)(db);
      Settings.put(db, "router_instance_id", RouterInstanceId.fromBytes(Buffer.alloc(16, 9)));
    },
  ],
];
for (const [what, state, prepare] of standings) {
  verifies(
    "HIS-51",
    `an agent of whom the Router remembers ${what} takes nothing, acknowledges nothing, puts nothing out`,
    async () => {
      const made = bench(prepare);
      const before = made.cursor();
      made.link.onReady(state);
      made.link.onDeliver(delivery(before + 1));
      await made.link.onGap({ fromCursor: before + 2, toCursor: before + 4 });
      expect(made.link.held()).toBe("lost-memory");
      expect(made.link.connected()).toBe(true);
      expect(made.link.mayEnqueue()).toBe(false);
      expect(made.link.connection().folded).toBe(false);
      expect(made.cursor()).toBe(before);
      expect(made.events).toEqual(["nothing is signed any more"]);
    },
  );
}

verifies(
  "HIS-130",
  "another instance gets a term of its own, and nothing leaves before the store is bound to it",
  async () => {
    const made = bench((db) => {
      boundAt(9)(db);
      Settings.put(db, "router_instance_id", RouterInstanceId.fromBytes(Buffer.alloc(16, 9)));
    });
    made.link.onReady(ready(2));
    expect(made.link.mayEnqueue()).toBe(false);
    for (const cursor of [1, 2]) made.link.onDeliver(delivery(cursor));
    await settled(made, 2);
    expect(made.link.mayEnqueue()).toBe(true);
    expect(made.link.connection()).toEqual({ routerInstanceId: instance, folded: true });
    expect(RouterTerms.formerTerms(made.db)).toMatchObject([
      { term: 1, ending: "another-instance", cursor: 9 },
    ]);
  },
);

verifies(
  "HIS-130",
  "a binding that could not be stored lets nothing leave, and is made by the next connection",
  async () => {
    const made = bench();
    made.beforeCommit = () => {
      throw new Error("the disk is full");
    };
    made.link.onReady(ready(0));
    await until("it is refused", () => made.events.includes("refuse"));
    made.link.onDisconnected("delivery-failed");
    expect(made.link.mayEnqueue()).toBe(false);
    made.beforeCommit = () => undefined;
    made.link.onReady(ready(0));
    await until("it is bound", () => Settings.text(made.db, "router_instance_id") === instance);
    expect(made.link.mayEnqueue()).toBe(true);
  },
);

verifies(
  "HIS-132",
  "a mailbox that ends before the cursor is taken from what the Router saw acknowledged",
  async () => {
    const made = bench(boundAt(9));
    made.link.onReady(ready(5, { acknowledgedCursor: 3 }));
    for (const cursor of [4, 5]) made.link.onDeliver(delivery(cursor));
    await settled(made, 5);
    await nothingMore();
    expect(made.link.connection().folded).toBe(true);
    expect(made.events.filter((event) => event.startsWith("take"))).toEqual(["take 4", "take 5"]);
    expect(RouterTerms.formerTerms(made.db)).toMatchObject([{ ending: "rolled-back", cursor: 9, tail: 5 }]);
  },
);

verifies("HIS-132", "a contradiction begins a new term in which that delivery is taken anew", async () => {
  const made = bench(boundAt(0));
  made.link.onReady(ready(3));
  made.take = (cursor) => ({
    kind: cursor === 2 && RouterTerms.formerTerms(made.db).length === 0 ? "contradiction" : "taken",
  });
  for (const cursor of [1, 2, 3]) made.link.onDeliver(delivery(cursor));
  await settled(made, 3);
  await nothingMore();
  expect(made.link.held()).toBeNull();
  expect(made.events.filter((event) => event.startsWith("take"))).toEqual([
    "take 1",
    "take 2",
    "take 2",
    "take 3",
  ]);
  expect(made.link.connection().folded).toBe(true);
});

/** Has taken and acknowledged the mailbox up to a cursor, and is connected no more. */
const takenUpTo = async (made: Bench, cursor: number): Promise<void> => {
  made.link.onReady(ready(cursor));
  for (let next = 1; next <= cursor; next++) made.link.onDeliver(delivery(next));
  await settled(made, cursor);
  await nothingMore();
  made.link.onDisconnected("connection-lost");
  made.events.length = 0;
};

verifies(
  "HIS-132",
  "after a roll-back the cursor is where the acknowledgments of this process leave it: the Router hears them again",
  async () => {
    const made = bench(boundAt(0));
    await takenUpTo(made, 5);
    Settings.put(made.db, "router_cursor", 8);
    made.link.onReady(ready(6, { acknowledgedCursor: 3 }));
    made.link.onDeliver(delivery(6));
    await settled(made, 6);
    await nothingMore();
    expect(made.events.filter((event) => event.startsWith("take"))).toEqual(["take 6"]);
    expect(made.link.connection().folded).toBe(true);
    expect(made.link.held()).toBeNull();
    expect(RouterTerms.judge(made.db, ready(6, { acknowledgedCursor: 5 }))).toBe("same");
  },
);

verifies(
  "HIS-132",
  "what was on its way when the Router heard them is taken anew, and moves no cursor back",
  async () => {
    const made = bench(boundAt(0));
    await takenUpTo(made, 5);
    made.again = () => ({ kind: "contradiction" });
    made.link.onReady(ready(6, { acknowledgedCursor: 2 }));
    for (const cursor of [3, 4, 6]) made.link.onDeliver(delivery(cursor));
    await settled(made, 6);
    await nothingMore();
    const seen = made.events.filter((event) => /^(take|again)/.test(event));
    expect(seen).toEqual(["again 3", "take 3", "take 4", "take 6"]);
    expect(RouterTerms.formerTerms(made.db)).toHaveLength(1);
    expect(made.link.held()).toBeNull();
  },
);

verifies("HIS-132", "a lane head of nothing is no delivery", async () => {
  const made = bench(boundAt(0));
  made.link.onReady(ready(2));
  made.take = () => ({ kind: "contradiction" });
  made.link.onDeliver(delivery(1));
  await until("it is refused", () => made.events.includes("refuse"));
  expect(made.cursor()).toBe(0);
  expect(RouterTerms.formerTerms(made.db)).toEqual([]);
});

/** Conversations whose anchor was accepted in the current term or an earlier one. */
const withAnchors = (db: Database, count: number, term: number): void => {
  for (let i = 0; i < count; i++) {
    const id = `cnv_${String(i).padStart(3, "0")}`;
    db.run(
      `INSERT INTO conversation (conversation_id, address, lane, membership, state, state_digest, active)
       VALUES (?, ?, ?, '', ?, x'', 0)`,
      id,
      id,
      id,
      JSON.stringify({ anchor: { anchorHash: `anchor of ${id}` } }),
    );
    db.run(
      "INSERT INTO anchor (conversation_id, anchor_hash, anchor, digest, term) VALUES (?, ?, '', x'', ?)",
      id,
      `anchor of ${id}`,
      term,
    );
  }
};

verifies(
  "HIS-135",
  "after a term has ended its conversations wish for a round, 32 in a turn, but for those that do already",
  async () => {
    const made = bench((db) => {
      boundAt(9)(db);
      withAnchors(db, 70, 1);
    });
    made.stateOf = (id) => ({
      anchor: { round: 0 },
      rounds: { bound: id === "cnv_001" ? 1 : 0, wish: id === "cnv_002" ? 1 : 0, own: null },
    });
    made.link.onReady(ready(5));
    for (const cursor of [1, 2, 3, 4, 5]) made.link.onDeliver(delivery(cursor));
    await until("all were fed", () => made.wished.flat().length === 68);
    await nothingMore();
    expect(made.wished.map((ids) => ids.length)).toEqual([30, 32, 6]);
    expect(made.wished.flat()).not.toContain("cnv_001");
    expect(made.wished.flat()).not.toContain("cnv_002");
    expect(new Set(made.wished.flat()).size).toBe(68);
  },
);

verifies("HIS-135", "a statement that names another instance is no round that can be had", async () => {
  const made = bench((db) => {
    boundAt(0)(db);
    withAnchors(db, 2, 0);
  });
  const other = RouterInstanceId.fromBytes(Buffer.alloc(16, 9));
  made.stateOf = (id) => ({
    anchor: { round: 0 },
    rounds: {
      bound: 1,
      wish: 1,
      own: { statement: { routerInstanceId: id === "cnv_000" ? other : instance } },
    },
  });
  made.link.onReady(ready(0));
  await until("one was fed", () => made.wished.length === 1);
  expect(made.wished).toEqual([["cnv_000"]]);
});

verifies("HIS-135", "a conversation whose anchor is of this term is left alone", async () => {
  const made = bench((db) => {
    boundAt(0)(db);
    withAnchors(db, 3, 1);
  });
  made.link.onReady(ready(0));
  await until("it is folded", () => made.link.connection().folded);
  await nothingMore();
  expect(made.wished).toEqual([]);
});
