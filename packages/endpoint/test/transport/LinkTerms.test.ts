import { expect } from "vitest";
import { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { type Bench, bench, boundAt, delivery, instance, nothingMore, ready, settled } from "./LinkBench.ts";

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
      `INSERT INTO conversation (conversation_id, address, lane, membership, opened_by, state, state_digest, active)
       VALUES (?, ?, ?, '', '', ?, x'', 0)`,
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
