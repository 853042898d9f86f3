// A process that dies before and after every step of three starts and of what they find: requests that are pending, queued,
// held, unread, due at a webhook or received. Each loss is told once, whatever died.

import * as Content from "@social-harness/protocol/history/Content";
import type { OperationFailedItem } from "@social-harness/protocol/delivery/Item";
import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Limits from "../../src/ingress/Limits.ts";
import type { Database } from "../../src/store/Database.ts";
import { answered as judged, checker } from "../firewall/WalledStore.ts";
import { answered, type Death, Killed } from "../webhooks/WebhookBench.ts";
import { makeConversation, makeStore } from "./CertifiedPosts.ts";
import * as PipelineBench from "./PipelineBench.ts";
import { classify, inboxRows, type InboxRow, recover, requestIdOf, say, wordsOf } from "./Requests.ts";

interface Run {
  readonly steps: ReadonlyArray<string>;
  readonly died: boolean;
  /** Event ids in the order of their receipts. */
  readonly taken: ReadonlyArray<string>;
  readonly inbox: ReadonlyArray<InboxRow>;
  readonly held: ReadonlyArray<string>;
}

const rules = { rules: [{ when: { text: "never" }, verdict: "hold" }], checker };

const story = async (death?: Death): Promise<Run> => {
  const taken: Array<string> = [];
  let isTaking = false;
  const pipeline = PipelineBench.create({
    rules,
    ...(death === undefined ? {} : { death }),
    check: () => judged({ verdict: "allow" }),
    deliver: ({ headers, body }) => {
      const message = JSON.parse(Buffer.from(body).toString("utf8")) as { readonly challenge?: string };
      if (message.challenge !== undefined) {
        const echo = Buffer.from(JSON.stringify({ challenge: message.challenge }));
        return { ...answered(200), body: echo } as never;
      }
      if (isTaking) taken.push(String(headers["webhook-id"]));
      return answered(isTaking ? 200 : 503);
    },
  });
  const { post } = pipeline;
  const bob = pipeline.conversation("bob");
  const group = pipeline.conversation("carol", "dan");
  bob.post("bob", Content.ofText("request 0"));
  await pipeline.start();
  await pipeline.subscribe();
  await post(bob, "bob", "a message");
  await post(group, "dan", "request never");
  await post(bob, "bob", "request 1");
  await pipeline.rest();
  await post(bob, "bob", "request 2");
  await pipeline.restart();
  await pipeline.rest();
  await post(group, "carol", "request 3");
  await pipeline.rest();
  await pipeline.restart();
  isTaking = true;
  await post(group, "carol", "request 4");
  await pipeline.drain();

  const db = pipeline.db();
  const held = db
    .all("SELECT item, request_id FROM firewall_hold")
    .map((row) => `${wordsOf(JSON.parse(String(row["item"])) as never)} ${String(row["request_id"])}`);
  expect(db.get("SELECT count(*) AS due FROM webhook_occurrence")?.["due"]).toBe(0);
  const inbox = inboxRows(db);
  await pipeline.close();
  return { steps: pipeline.steps, died: pipeline.died(), taken, inbox, held };
};

const toldOf = ({ bytes }: InboxRow): ReadonlyArray<string> => {
  const item = JSON.parse(bytes) as Partial<OperationFailedItem>;
  return item.kind === "operationFailed" && item.id !== undefined ? [item.id] : [];
};

const check = ({ taken, inbox, held }: Run, said: string): void => {
  expect(held, said).toEqual([`request never ${requestIdOf("request never")}`]);
  const row = (words: string): InboxRow => {
    const rows = inbox.filter((one) => one.words === words);
    expect(rows, `${said}: ${words}`).toHaveLength(1);
    return rows[0] as InboxRow;
  };
  const count = (words: string): number => taken.filter((id) => id === eventIdOf(row(words).token)).length;
  const told = inbox.flatMap(toldOf);
  // Nobody has taken those, and each is told of once.
  for (const words of ["request 0", "request 1", "request 2", "request 3"]) {
    expect(count(words), `${said}: ${words}`).toBe(0);
    expect(told, said).toContain(requestIdOf(words));
  }
  expect(new Set(told).size, said).toBe(told.length);
  const order = ["request 0", "request 1", "request 2"].map((words) => told.indexOf(requestIdOf(words)));
  expect(order, said).toEqual(order.toSorted((a, b) => a - b));
  expect(count("a message"), said).toBeGreaterThan(0);
  // The last one is received, lost, or received by somebody whose receipt was lost with the process.
  const isLost = told.includes(requestIdOf("request 4"));
  expect(isLost || count("request 4") > 0, said).toBe(true);
  for (const notice of inbox.filter((one) => toldOf(one).length > 0)) {
    expect(taken, said).toContain(eventIdOf(notice.token));
  }
  expect(inbox, said).toHaveLength(isLost ? 11 : 10);
};

verifies(
  ["ING-185", "ING-170", "ING-171", "ING-09"],
  "wherever a process dies over three starts, each request is shown, held, or lost and told of once",
  async () => {
    const undisturbed = await story();
    check(undisturbed, "undisturbed");
    const { steps } = undisturbed;
    // Recovery's own steps: one that takes a due delivery and tells behind what is queued, one that tells at once.
    for (const step of ["commit queue due receipt failure", "commit inbox receipt"])
      expect(steps).toContain(step);
    let deaths = 0;
    for (const [index, words] of steps.entries()) {
      for (const when of ["before", "after"] as const) {
        const run = await story({ step: index + 1, when });
        const said = `killed ${when} step ${index + 1}, a ${words}`;
        expect(run.died, said).toBe(true);
        check(run, said);
        deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(40);
  },
  180_000,
);

const many = Limits.recoveryRequestsMax * 2 + 5;

/** The same store for a process that dies at one of its writes, or before or after one of its commits. */
const mortal = (db: Database, dies: (step: string) => boolean): Database => {
  const live = (step: string): void => {
    if (dies(step)) throw new Killed(step);
  };
  return {
    ...db,
    run: (...args) => {
      live("write");
      return db.run(...args);
    },
    transaction: (body) => {
      live("before");
      const result = db.transaction(body);
      live("after");
      return result;
    },
  };
};

verifies(
  ["ING-185", "ING-187"],
  "a process that dies in the middle of many requests leaves whole ones, and the next goes on where it ended",
  () => {
    const store = makeStore();
    onTestFinished(store.remove);
    store.db.run("PRAGMA synchronous = OFF");
    const bob = makeConversation(store, "alice", ["alice", "bob"]);
    const texts = Array.from({ length: many }, (_, i) => `request ${i}`);
    store.db.transaction(() => say(bob, ...texts));
    classify(store.db);
    const tokens = inboxRows(store.db).map(({ token }) => token);
    const told = (): ReadonlyArray<string> => inboxRows(store.db).flatMap(toldOf);

    // Each death comes a little later than the one before it, and the last start has little left to do.
    const deaths: ReadonlyArray<readonly [step: string, nth: number, whole: number]> = [
      ["before", 1, 0],
      ["write", 1, 0],
      ["write", Limits.recoveryRequestsMax, 0],
      ["write", Limits.recoveryRequestsMax * 2, 0],
      ["write", Limits.recoveryRequestsMax * 2 + 7, 1],
      ["after", 1, 2],
      ["write", 8, 2],
    ];
    for (const [step, nth, whole] of deaths) {
      let seen = 0;
      const dying = mortal(store.db, (now) => now === step && ++seen === nth);
      expect(() => recover(dying)).toThrow(Killed);
      store.reopen();
      const lost = inboxRows(store.db).filter(
        ({ isUnread, words }) => !isUnread && words.startsWith("request"),
      );
      expect(lost, `${step} ${nth}`).toHaveLength(whole * Limits.recoveryRequestsMax);
      expect(told()).toEqual(lost.map(({ words }) => requestIdOf(words)));
    }
    expect(recover(store.db)).toBe(5);
    expect(recover(store.db)).toBe(0);
    expect(told()).toEqual(texts.map(requestIdOf));
    expect(Inbox.unreadCount(store.db)).toBe(many);
    expect(
      inboxRows(store.db)
        .slice(0, many)
        .map(({ token }) => token),
    ).toEqual(tokens);
  },
  60_000,
);
