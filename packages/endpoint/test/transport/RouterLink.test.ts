import { expect } from "vitest";
import { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { ReadyState } from "@social-harness/router/client/RouterClient";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { bench, boundAt, delivery, instance, nothingMore, ready, settled } from "./LinkBench.ts";

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

/** Envelopes as an old copy holds them: the first ones accepted, the last ones still waiting. */
const withOutbox =
  (enqueued: number, waiting: number) =>
  (db: Database): void => {
    Settings.put(db, "enqueued_sends", enqueued);
    for (let i = enqueued - waiting + 1; i <= enqueued; i++)
      db.run("INSERT INTO outbox (sequence, message_id, envelope) VALUES (?, '', '')", i);
  };

const another = RouterInstanceId.fromBytes(Buffer.alloc(16, 9));
const losses: ReadonlyArray<readonly [string, ReadyState, (db: Database) => void, number, number]> = [
  ["a send that it does not know", ready(0, { acceptedSends: 1 }), () => undefined, 0, 1],
  [
    "an acknowledgment that it does not know",
    ready(4, { acknowledgedCursor: 3, acceptedSends: 4 }),
    (db) => {
      boundAt(2)(db);
      withOutbox(6, 2)(db);
    },
    3,
    6,
  ],
  [
    "sends beyond those that wait",
    ready(4, { acknowledgedCursor: 1, acceptedSends: 9 }),
    (db) => {
      boundAt(2)(db);
      withOutbox(6, 2)(db);
    },
    2,
    9,
  ],
  [
    "a past with an instance that is new to it",
    ready(4, { acknowledgedCursor: 3, acceptedSends: 5 }),
    (db) => {
      boundAt(9)(db);
      withOutbox(6, 2)(db);
      Settings.put(db, "router_instance_id", another);
    },
    3,
    11,
  ],
];
for (const [what, state, prepare, cursor, enqueued] of losses) {
  verifies(
    "HIS-51",
    `an agent of whom the Router remembers ${what} takes over its counts, sends nothing old and goes on`,
    async () => {
      const made = bench(prepare);
      made.link.onReady(state);
      await until("it is bound", () => made.link.mayEnqueue());
      expect([made.cursor(), Settings.integer(made.db, "enqueued_sends")]).toEqual([cursor, enqueued]);
      expect(made.db.all("SELECT * FROM outbox")).toEqual([]);
      expect(made.events).toContain("lost memory");
      for (let next = cursor + 1; next <= state.tailCursor; next++) made.link.onDeliver(delivery(next));
      await settled(made, state.tailCursor);
      expect(made.link.connection()).toEqual({ routerInstanceId: instance, folded: true });
      made.link.onReady({ ...state, acknowledgedCursor: state.tailCursor });
      await until("it is bound again", () => made.link.mayEnqueue());
      expect(made.events.filter((event) => event === "lost memory")).toHaveLength(1);
    },
  );
}

verifies(
  "HIS-51",
  "what this process has on its way is no further loss when the Router accepts it",
  async () => {
    const made = bench(boundAt(0));
    made.underway = 2;
    made.link.onReady(ready(0, { acceptedSends: 7 }));
    await until("it is bound", () => made.link.mayEnqueue());
    made.link.onReady(ready(0, { acceptedSends: 9 }));
    await until("it is bound again", () => made.link.mayEnqueue());
    made.link.onReady(ready(0, { acceptedSends: 10 }));
    await until(
      "that one was nobody's",
      () => made.events.filter((event) => event === "lost memory").length === 2,
    );
  },
);

verifies(
  "HIS-51",
  "a loss that could not be stored is found by the next connection, and nothing leaves before",
  async () => {
    const made = bench((db) => {
      boundAt(0)(db);
      withOutbox(3, 1)(db);
    });
    made.beforeCommit = () => {
      throw new Error("the disk is full");
    };
    made.link.onReady(ready(0, { acceptedSends: 7 }));
    await until("it is refused", () => made.events.includes("refuse"));
    expect(made.link.mayEnqueue()).toBe(false);
    expect(made.db.all("SELECT * FROM outbox")).toHaveLength(1);
    made.link.onDisconnected("delivery-failed");
    made.beforeCommit = () => undefined;
    made.link.onReady(ready(0, { acceptedSends: 7 }));
    await until("it is bound", () => made.link.mayEnqueue());
    expect(made.db.all("SELECT * FROM outbox")).toEqual([]);
  },
);

verifies("HIS-51", "an old copy that meets a Router that went back as well is told both", async () => {
  const made = bench(boundAt(9));
  made.link.onReady(ready(5, { acknowledgedCursor: 3, acceptedSends: 1 }));
  for (const cursor of [4, 5]) made.link.onDeliver(delivery(cursor));
  await settled(made, 5);
  await until("it is folded", () => made.link.connection().folded);
  expect(made.events).toContain("lost memory");
  expect(RouterTerms.formerTerms(made.db)).toMatchObject([{ ending: "rolled-back", tail: 5 }]);
});
