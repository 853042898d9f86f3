// Requests, messages and starts against a model of one page: what waits, what a process shows, and what dies with it.

import { randomBytes } from "node:crypto";
import { type DeliveryToken, eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as HoldRows from "../../src/firewall/HoldRows.ts";
import * as Queue from "../../src/firewall/Queue.ts";
import type { Admit } from "../../src/ingress/Classify.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Occurrence from "../../src/webhooks/Occurrence.ts";
import { type Conversation, makeConversation, makeStore, type TestStore } from "./CertifiedPosts.ts";
import { classify, inboxRows, type InboxRow, now, recover, say } from "./Requests.ts";

interface Row {
  readonly words: string;
  isUnread: boolean;
}

interface Model {
  said: number;
  walled: boolean;
  pending: Array<string>;
  queue: Array<string>;
  held: Array<string>;
  inbox: Array<Row>;
  /** What is due at the webhook: a place in the inbox. */
  due: number | null;
}

interface Real {
  readonly store: TestStore;
  readonly bob: Conversation;
  /** Of every row that was ever in the inbox. */
  readonly seen: Map<DeliveryToken, string>;
}

const lost = "context-lost agent:bob";
const isRequest = (words: string): boolean => words.startsWith("request");

/** Where items go: with a firewall into its queue, and what the endpoint tells only behind others of its conversation. */
const admitOf =
  (isWalled: boolean): Admit =>
  (db, admission, conversationId) => {
    if (Queue.has(db, conversationId) || (isWalled && admission.recordHash !== undefined)) {
      Queue.add(db, { ...admission, conversationId });
      return false;
    }
    Inbox.admit(db, admission);
    return true;
  };

const bringIn = (model: Model, words: string, isTold: boolean): void => {
  if (model.queue.length > 0 || (model.walled && !isTold)) model.queue.push(words);
  else model.inbox.push({ words, isUnread: true });
};

const check = (model: Model, { store, seen }: Real): void => {
  const rows = inboxRows(store.db);
  expect(rows.map(({ words, isUnread }) => ({ words, isUnread }))).toEqual(model.inbox);
  const unread = Inbox.page(store.db).items;
  expect(unread.map(({ deliveryToken }) => deliveryToken)).toEqual(
    rows.filter(({ isUnread }) => isUnread).map(({ token }) => token),
  );
  const due = Occurrence.current(store.db)?.deliveryToken;
  expect(due).toBe(model.due === null ? undefined : rows[model.due]?.token);
  for (const { token, bytes } of rows) {
    expect(seen.get(token) ?? bytes).toBe(bytes);
    seen.set(token, bytes);
    expect(Inbox.textOf(Inbox.readEvent(store.db, eventIdOf(token)).item)).toBe(bytes);
  }
  expect(seen.size).toBe(rows.length);
  expect(Queue.count(store.db)).toBe(model.queue.length);
};

type Command = fc.Command<Model, Real>;
const command = (
  name: string,
  run: (model: Model, real: Real) => void,
  isPossible: (model: Readonly<Model>) => boolean = () => true,
): Command => ({
  check: isPossible,
  run: (model, real) => {
    run(model, real);
    check(model, real);
  },
  toString: () => name,
});

const arrive = (word: "request" | "message"): Command =>
  command(`a ${word}`, (model, { bob }) => {
    const words = `${word} ${model.said++}`;
    say(bob, words);
    model.pending.push(words);
  });

const classifyAll = command("classify", (model, { store }) => {
  classify(store.db, admitOf(model.walled));
  for (const words of model.pending.splice(0)) bringIn(model, words, false);
});

const judge = (verdict: "allow" | "hold"): Command =>
  command(
    verdict,
    (model, { store, bob }) => {
      const [entry] = Queue.next(store.db, bob.members.conversationId, 1) as [Queue.Queued];
      const words = model.queue.shift() as string;
      // What the endpoint tells is not judged.
      const isHeld = verdict === "hold" && words !== lost;
      store.db.transaction(() =>
        Queue.settle(store.db, entry, isHeld ? { verdict: "hold", reason: "rule" } : { verdict: "allow" }, {
          now,
          random: randomBytes,
        }),
      );
      if (isHeld) model.held.push(words);
      else model.inbox.push({ words, isUnread: true });
    },
    (model) => model.queue.length > 0,
  );

const release = command(
  "release",
  (model, { store }) => {
    const [hold] = HoldRows.list(store.db, {}).holds;
    store.db.transaction(() =>
      HoldRows.release(store.db, hold?.holdId as never, { now, random: randomBytes }),
    );
    model.inbox.push({ words: model.held.shift() as string, isUnread: true });
  },
  (model) => model.held.length > 0,
);

const acknowledge = (choice: number): Command =>
  command(
    `acknowledge ${choice}`,
    (model, { store }) => {
      const place = choice % model.inbox.length;
      const { token } = inboxRows(store.db)[place] as InboxRow;
      store.db.transaction(() => {
        Inbox.acknowledge(store.db, token, now);
        Occurrence.drop(store.db, [token], now);
      });
      (model.inbox[place] as Row).isUnread = false;
      if (model.due === place) model.due = null;
    },
    (model) => model.inbox.length > 0,
  );

const offer = command(
  "offer",
  (model, { store }) => {
    store.db.transaction(() => Occurrence.offer(store.db));
    const first = model.inbox.findIndex(({ isUnread }) => isUnread);
    model.due = first === -1 ? null : first;
  },
  (model) => model.due === null,
);

const wall = command("a firewall comes or goes", (model) => {
  model.walled = !model.walled;
});

class Killed extends Error {}

/** A start; `killedAt` has it die at that write first, which nobody must be able to tell afterwards. */
const start = (killedAt: number | null): Command =>
  command(killedAt === null ? "start" : `start, killed at write ${killedAt}`, (model, { store }) => {
    store.reopen();
    store.db.run("PRAGMA synchronous = OFF");
    let writes = 0;
    const { db } = store;
    const mortal = {
      ...db,
      run: (...args: Parameters<typeof db.run>) => {
        if (writes++ === killedAt) throw new Killed();
        return db.run(...args);
      },
    };
    const options = { admit: admitOf(model.walled) };
    try {
      recover(mortal, options);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      store.reopen();
      recover(store.db, options);
    }
    const told = model.inbox.filter(({ words, isUnread }) => isUnread && isRequest(words));
    if (model.due !== null && told.includes(model.inbox[model.due] as Row)) model.due = null;
    for (const row of told) row.isUnread = false;
    for (const _ of told) bringIn(model, lost, true);
  });

const anyCommand = [
  fc.constant(arrive("request")),
  fc.constant(arrive("request")),
  fc.constant(arrive("message")),
  fc.constant(classifyAll),
  fc.constant(classifyAll),
  fc.constantFrom(judge("allow"), judge("allow"), judge("hold")),
  fc.constant(release),
  fc.nat({ max: 50 }).map(acknowledge),
  fc.constant(offer),
  fc.constant(wall),
  fc.option(fc.nat({ max: 12 })).map(start),
];

verifies(
  ["ING-189", "ING-185"],
  "requests and their losses are those of the model, in any order of events, starts and kills",
  () => {
    let losses = 0;
    fc.assert(
      fc.property(fc.commands(anyCommand, { maxCommands: 40, size: "max" }), (list) => {
        const store = makeStore();
        store.db.run("PRAGMA synchronous = OFF");
        const bob = makeConversation(store, "alice", ["alice", "bob"]);
        const model: Model = {
          said: 0,
          walled: false,
          pending: [],
          queue: [],
          held: [],
          inbox: [],
          due: null,
        };
        try {
          fc.modelRun(() => ({ model, real: { store, bob, seen: new Map() } }), list);
          losses += model.inbox.filter(({ words }) => words === lost).length;
        } finally {
          store.remove();
        }
      }),
      { numRuns: 150 },
    );
    expect(losses).toBeGreaterThan(20);
  },
  120_000,
);
