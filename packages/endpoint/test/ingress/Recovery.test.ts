// What becomes of requests whose answers an earlier process could have taken, when another one starts.

import { verifies } from "@social-harness/testkit/Verifies";
import { DeliveryToken, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { expect, onTestFinished } from "vitest";
import * as HoldRows from "../../src/firewall/HoldRows.ts";
import * as Queue from "../../src/firewall/Queue.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Limits from "../../src/ingress/Limits.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { scripted } from "../webhooks/ScriptedReceiver.ts";
import { answered } from "../webhooks/WebhookBench.ts";
import {
  type Conversation,
  makeConversation,
  makeStore,
  seededRandom,
  type TestStore,
} from "./CertifiedPosts.ts";
import { classify, inboxRows, now, recover, requestIdOf, say, unreadWords } from "./Requests.ts";

const lostOf = (address = "agent:bob"): string => `context-lost ${address}`;

const started = (): {
  readonly store: TestStore;
  readonly bob: Conversation;
  readonly db: () => Database;
} => {
  const store = makeStore();
  onTestFinished(store.remove);
  return { store, bob: makeConversation(store, "alice", ["alice", "bob"]), db: () => store.db };
};

/** Every row of every table that recovery could touch. */
const dump = (db: Database): string =>
  JSON.stringify(
    ["inbox", "pending", "firewall_queue", "firewall_hold", "webhook_occurrence"].map((table) =>
      db.all(`SELECT * FROM ${table}`),
    ),
  );

verifies(
  ["ING-180", "ING-181"],
  "an unread request leaves the inbox, and an item under a token of its own says which one was lost",
  () => {
    const { store, bob, db } = started();
    const group = makeConversation(store, "alice", ["alice", "bob", "carol"]);
    say(bob, "hello");
    const { postId } = bob.post("bob", [{ type: "text", text: "request 1" }]);
    say(group, "request 2");
    say(bob, "good bye");
    classify(db());
    const before = inboxRows(db());
    store.reopen();
    expect(recover(db())).toBe(2);

    expect(unreadWords(db())).toEqual(["hello", "good bye", lostOf(), lostOf("group:alice,bob,carol")]);
    const { items } = Inbox.page(db());
    expect(items[2]?.item).toEqual({
      kind: "operationFailed",
      id: requestIdOf("request 1"),
      postId,
      to: "agent:bob",
      error: { reason: "context-lost", message: expect.stringContaining("cannot be answered") },
    });
    expect(items[3]?.item).toMatchObject({ id: requestIdOf("request 2") });
    const tokens = inboxRows(db()).map(({ token }) => token);
    expect(new Set(tokens).size).toBe(6);
    expect(tokens.every(DeliveryToken.is)).toBe(true);
    // What was there stands under the same token with the same bytes, read by whoever asks.
    expect(inboxRows(db()).slice(0, 4)).toEqual(
      before.map((row) => ({ ...row, isUnread: !row.words.startsWith("request") })),
    );
    for (const { token, words, bytes } of before) {
      expect(Inbox.textOf(Inbox.readEvent(db(), eventIdOf(token)).item)).toBe(bytes);
      if (words.startsWith("request")) db().transaction(() => Inbox.acknowledge(db(), token, now));
    }
    expect(Inbox.unreadCount(db())).toBe(4);
    // Nothing is left from which the request could come back.
    classify(db());
    expect(inboxRows(db())).toHaveLength(6);
  },
);

verifies(
  "ING-181",
  "the owner's words stay beside a retired request and do not pass to its successor",
  () => {
    const { store, bob, db } = started();
    say(bob, "request");
    classify(db(), (at, admission) => {
      Inbox.admit(at, { ...admission, guidance: "ask me first", released: true });
      return true;
    });
    const [row] = inboxRows(db());
    store.reopen();
    recover(db());
    expect(Inbox.readEvent(db(), eventIdOf(row?.token as DeliveryToken))).toMatchObject({
      guidance: "ask me first",
      released: true,
    });
    const [failed, ...others] = Inbox.page(db()).items;
    expect(others).toEqual([]);
    expect(Object.keys(failed ?? {}).toSorted()).toEqual(["deliveryToken", "item"]);
  },
);

verifies(
  "ING-182",
  "a request that no earlier process has shown is classified as ever, and lost only with the process that shows it",
  () => {
    const { store, bob, db } = started();
    say(bob, "request", "after it");
    for (let starts = 0; starts < 3; starts++) {
      store.reopen();
      expect(recover(db())).toBe(0);
    }
    classify(db());
    expect(unreadWords(db())).toEqual(["request", "after it"]);
    store.reopen();
    expect(recover(db())).toBe(1);
    expect(unreadWords(db())).toEqual(["after it", lostOf()]);
  },
);

verifies(
  "ING-183",
  "a request that waits in the firewall is shown by nobody yet: queued, held and released",
  () => {
    const { store, bob, db } = started();
    say(bob, "request to be allowed", "request to be held");
    classify(db(), (at, admission, conversationId) => {
      Queue.add(at, { ...admission, conversationId });
      return false;
    });
    const writing = { now, random: seededRandom("verdicts") };
    const settle = (verdict: Parameters<typeof Queue.settle>[2]): Queue.Settled => {
      const [entry] = Queue.next(db(), bob.members.conversationId, 1);
      return db().transaction(() => Queue.settle(db(), entry as Queue.Queued, verdict, writing));
    };
    store.reopen();
    expect(recover(db())).toBe(0);
    settle({ verdict: "allow" });
    const held = settle({ verdict: "hold", reason: "rule", rule: 1 });
    expect(unreadWords(db())).toEqual(["request to be allowed"]);
    store.reopen();
    expect(recover(db())).toBe(1);
    expect(unreadWords(db())).toEqual([lostOf()]);

    expect(held.kind).toBe("held");
    const { holdId } = held as Extract<Queue.Settled, { kind: "held" }>;
    expect(db().transaction(() => HoldRows.release(db(), holdId, writing)).admitted).toBe(true);
    expect(unreadWords(db())).toEqual([lostOf(), "request to be held"]);
    store.reopen();
    expect(recover(db())).toBe(1);
    expect(unreadWords(db())).toEqual([lostOf(), lostOf()]);
    const ids = Inbox.page(db()).items.map(({ item }) => item.kind === "operationFailed" && item.id);
    expect(ids).toEqual(["request to be allowed", "request to be held"].map(requestIdOf));
  },
);

verifies("ING-184", "an acknowledged request is left alone, and another start changes nothing", () => {
  const { store, bob, db } = started();
  say(bob, "request answered", "request unread", "a message");
  classify(db());
  const [answeredRow] = inboxRows(db());
  db().transaction(() => Inbox.acknowledge(db(), answeredRow?.token as DeliveryToken, now));
  store.reopen();
  expect(recover(db())).toBe(1);
  expect(unreadWords(db())).toEqual(["a message", lostOf()]);
  const once = dump(db());
  for (let starts = 0; starts < 3; starts++) {
    store.reopen();
    expect(recover(db())).toBe(0);
    classify(db());
    expect(dump(db())).toBe(once);
  }
  // Its successor is an item like any other, and no request.
  const failed = Inbox.page(db()).items.at(-1);
  db().transaction(() => Inbox.acknowledge(db(), failed?.deliveryToken as DeliveryToken, now));
  store.reopen();
  expect(recover(db())).toBe(0);
  expect(unreadWords(db())).toEqual(["a message"]);
});

verifies(
  ["ING-180", "ING-104"],
  "a due delivery of a lost request is never sent again; the next one is that of the oldest unread item",
  async () => {
    const { store, bob } = started();
    const script = await scripted([answered(500)], store.db);
    const { bench, got } = script;
    say(bob, "request", "a message");
    classify(bench.db);
    const [lost, message] = inboxRows(bench.db);
    bench.webhooks.wake();
    await bench.settle();
    expect(Occurrence.current(bench.db)?.deliveryToken).toBe(lost?.token);
    script.answers = [answered(200), answered(200)];
    bench.restart((db) => void recover(db));
    await bench.advance(60_000);
    const failed = inboxRows(bench.db).at(-1);
    expect(failed?.words).toBe(lostOf());
    expect(got.map(({ headers }) => headers["webhook-id"])).toEqual(
      [lost, message, failed].map((row) => eventIdOf(row?.token as DeliveryToken)),
    );
    expect(Inbox.unreadCount(bench.db)).toBe(0);
  },
);

verifies(
  ["ING-180", "ING-82"],
  "a registration that was rejected over a request stays rejected when the request is retired",
  async () => {
    const { store, bob } = started();
    const { bench, got } = await scripted([answered(413)], store.db);
    say(bob, "request");
    classify(bench.db);
    bench.webhooks.wake();
    await bench.settle();
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "rejected" });
    bench.restart((db) => void recover(db));
    await bench.advance(60_000);
    expect(Occurrence.current(bench.db)).toBeNull();
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "rejected" });
    expect(got).toHaveLength(1);
  },
);

verifies(
  "ING-180",
  "a delivery that is due of another item stays due, with its bytes and its failures",
  async () => {
    const { store, bob } = started();
    const { bench } = await scripted([answered(500)], store.db);
    say(bob, "a message", "request");
    classify(bench.db);
    bench.webhooks.wake();
    await bench.settle();
    const due = Occurrence.current(bench.db);
    bench.restart((db) => void recover(db));
    expect(Occurrence.current(bench.db)).toEqual(due);
    expect(bench.webhooks.eventSubscriptionStatus()).toMatchObject({ state: "retrying", failedAttempts: 1 });
  },
);

verifies(
  "ING-186",
  "what tells of the losses comes in their order, behind all that its conversation has",
  () => {
    const { store, bob, db } = started();
    const carol = makeConversation(store, "alice", ["alice", "carol"]);
    say(bob, "request b1");
    carol.post("carol", [{ type: "text", text: "request c" }]);
    say(bob, "request b2");
    classify(db());
    // What came later waits for a verdict.
    say(bob, "queued");
    classify(db(), (at, admission, conversationId) => {
      Queue.add(at, { ...admission, conversationId });
      return false;
    });
    store.reopen();
    const asked: Array<string> = [];
    const retired = recover(db(), {
      admit: (at, admission, conversationId) => {
        asked.push(conversationId);
        expect(admission.recordHash).toBeUndefined();
        if (Queue.has(at, conversationId)) {
          Queue.add(at, { ...admission, conversationId });
          return false;
        }
        Inbox.admit(at, admission);
        return true;
      },
    });
    expect(retired).toBe(3);
    const [b, c] = [bob, carol].map(({ members }) => members.conversationId);
    expect(asked).toEqual([b, c, b]);
    expect(unreadWords(db())).toEqual([lostOf("agent:carol")]);
    const [first, ...told] = Queue.next(db(), b as never, 9);
    expect(first?.recordHash).not.toBeNull();
    expect(told.map(({ recordHash, requestId }) => [recordHash, requestId])).toEqual([
      [null, null],
      [null, null],
    ]);
    expect(told.map(({ item }) => item.kind === "operationFailed" && item.id)).toEqual(
      ["request b1", "request b2"].map(requestIdOf),
    );
  },
);

verifies("ING-188", "a request that this process can answer stays as it is, wherever it stands", () => {
  const { store, bob, db } = started();
  const texts = Array.from({ length: Limits.recoveryRequestsMax + 3 }, (_, i) => `request ${i}`);
  db().transaction(() => say(bob, ...texts));
  classify(db());
  store.reopen();
  const kept = [texts[0], texts[7], texts.at(-1)] as ReadonlyArray<string>;
  const answerable = new Set(kept.map(requestIdOf));
  expect(recover(db(), { answerable })).toBe(texts.length - 3);
  expect(unreadWords(db()).slice(0, 4)).toEqual([...kept, lostOf()]);
  expect(recover(db(), { answerable: new Set(texts.map(requestIdOf)) })).toBe(0);
  expect(recover(db())).toBe(3);
});

verifies("ING-180", "a request whose item was damaged is retired all the same", () => {
  const { store, bob, db } = started();
  say(bob, "request");
  classify(db());
  db().run("UPDATE inbox SET item = '{'");
  store.reopen();
  expect(recover(db())).toBe(1);
  expect(Inbox.page(db()).items.map(({ item }) => item.kind)).toEqual(["operationFailed"]);
});

/** The same store, and what was asked of it: the most rows of one answer, and the transactions. */
const counting = (db: Database) => {
  const counts = { rows: 0, transactions: 0 };
  const counted: Database = {
    ...db,
    all: (sql, ...values) => {
      const rows = db.all(sql, ...values);
      counts.rows = Math.max(counts.rows, rows.length);
      return rows;
    },
    iterate: () => {
      throw new Error("a walk that nothing bounds");
    },
    transaction: (body) => {
      counts.transactions += 1;
      return db.transaction(body);
    },
  };
  return { counts, counted };
};

verifies(
  "ING-187",
  "ten thousand requests are retired a bounded number at a time, in one turn each",
  () => {
    const { store, bob, db } = started();
    db().run("PRAGMA synchronous = OFF");
    const texts = Array.from({ length: 10_000 }, (_, i) => `request ${i}`);
    db().transaction(() => say(bob, ...texts));
    classify(db());
    store.reopen();
    const { counts, counted } = counting(db());
    expect(recover(counted)).toBe(10_000);
    expect(counts).toEqual({
      rows: Limits.recoveryRequestsMax,
      transactions: Math.ceil(10_000 / Limits.recoveryRequestsMax),
    });
    expect(Inbox.unreadCount(db())).toBe(10_000);
    const ids = db()
      .all(
        "SELECT json_extract(item, '$.id') AS id FROM inbox WHERE acknowledged_at IS NULL ORDER BY sequence",
      )
      .map(({ id }) => id);
    expect(ids).toEqual(texts.map(requestIdOf));
    const again = counting(db());
    expect(recover(again.counted)).toBe(0);
    expect(again.counts).toEqual({ rows: 0, transactions: 0 });
  },
  60_000,
);

verifies("ING-187", "where no request is unread, a start looks at an empty index and writes nothing", () => {
  const { bob, db } = started();
  db().transaction(() => say(bob, ...Array.from({ length: 300 }, (_, i) => `message ${i}`)));
  classify(db());
  const { counts, counted } = counting(db());
  let plan = "";
  recover({
    ...counted,
    all: (sql, ...values) => {
      plan = JSON.stringify(db().all(`EXPLAIN QUERY PLAN ${sql}`, ...values));
      return counted.all(sql, ...values);
    },
  });
  expect(counts).toEqual({ rows: 0, transactions: 0 });
  expect(plan).toContain("USING INDEX inbox_request");
  expect(plan).not.toContain("SCAN");
  expect(
    db().get(
      "SELECT count(*) AS n FROM inbox INDEXED BY inbox_request WHERE request_id IS NOT NULL AND acknowledged_at IS NULL",
    )?.["n"],
  ).toBe(0);
});
