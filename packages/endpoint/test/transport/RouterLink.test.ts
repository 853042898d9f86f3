import { expect } from "vitest";
import { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { ReadyState } from "@social-harness/router/client/RouterClient";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
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
