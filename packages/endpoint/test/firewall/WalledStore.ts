// A real store with real turns and a firewall in front of its inbox: posts are committed as an agent's turns commit them, a
// checker under https is asked through a client that only writes down what it was asked, and a kill leaves the file alone.

import { randomBytes } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { Item } from "@social-harness/protocol/delivery/Item";
import * as Content from "@social-harness/protocol/history/Content";
import { OperationId, PostId } from "@social-harness/protocol/identity/Identifier";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { onTestFinished } from "vitest";
import type { CallbackAnswer, CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import { admitCommitted } from "../../src/conversations/Admission.ts";
import { emptyWork, type Work } from "../../src/conversations/Conversations.ts";
import * as Firewall from "../../src/firewall/Firewall.ts";
import * as Queue from "../../src/firewall/Queue.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import * as Turns from "../../src/store/Turns.ts";
import {
  cardOf,
  type Conversation,
  makeConversation,
  makeStore,
  type TestStore,
} from "../ingress/CertifiedPosts.ts";
import type { LogLine } from "../mcp/TestEndpoint.ts";

/** One question that the checker has not answered. */
export interface Question {
  readonly text: string;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly answer: (answer: CallbackAnswer) => void;
}

export const answered = (verdict: object | string, status = 200): CallbackAnswer => ({
  kind: "answered",
  status,
  retryAfterMs: null,
  body: Buffer.from(typeof verdict === "string" ? verdict : JSON.stringify(verdict)),
});

export const checker = { url: "https://checker.example/" };

export const textOf = (item: Item): string =>
  item.kind === "operationFailed"
    ? `failed ${item.to}`
    : item.message.content.map((part) => (part.type === "text" ? part.text : "")).join("");

export interface Walled {
  readonly store: TestStore;
  readonly path: string;
  readonly log: ReadonlyArray<LogLine>;
  /** How often the inbox was said to have risen. */
  readonly raised: () => number;
  readonly questions: ReadonlySet<Question>;
  readonly firewall: () => Firewall.Firewall;
  readonly conversation: (...others: ReadonlyArray<string>) => Conversation;
  /** Commits a post in a turn, as another agent's that was certified. */
  readonly post: (conversation: Conversation, author: string, text: string) => Promise<void>;
  /** Ends an own post without its effect, in a turn. */
  readonly fail: (conversation: Conversation) => Promise<void>;
  /** Writes the file, or removes it for null, and waits until that counts. */
  readonly rules: (file: object | string | null) => Promise<void>;
  /** Lets no verdict be written until what it returns is called. */
  readonly pauseWriting: () => () => void;
  /** What a kill leaves: the file of the store, and nothing that was in memory or under way. */
  readonly restart: () => Promise<void>;
  /** Resolves when nothing happens any more by itself. */
  readonly rest: () => Promise<void>;
  readonly inbox: () => ReadonlyArray<string>;
  /** Before the test ends, where it makes many of them. */
  readonly close: () => Promise<void>;
}

const now = { ms: Date.parse("2026-11-30T12:00:00Z") };

export const walled = async (
  file: object | string | null = null,
  watch: Firewall.FirewallOptions["watch"] = {},
): Promise<Walled> => {
  const folder = temporaryFolder();
  const path = `${folder}/firewall.json`;
  const store = makeStore();
  // Durability is not the question here: a kill is not a power cut.
  store.db.run("PRAGMA synchronous = OFF");
  const log: Array<LogLine> = [];
  const logger = (level: string, event: string, fields: LogLine["fields"] = {}): void =>
    void log.push({ level, event, fields });
  const questions = new Set<Question>();
  let raised = 0;
  let writable: Promise<void> = Promise.resolve();

  const write = (content: object | string | null): void => {
    if (content === null) rmSync(path, { force: true });
    else {
      const text = typeof content === "string" ? content : JSON.stringify(content);
      writeFileSync(path, text, { mode: 0o600 });
    }
  };

  const callbacks: CallbackClient = {
    post: ({ body }, signal) =>
      new Promise((resolve, reject) => {
        const asked = JSON.parse(Buffer.from(body).toString("utf8")) as Question["asked"];
        const question: Question = {
          text: textOf(asked["item"] as Item),
          asked,
          answer: (answer) => {
            questions.delete(question);
            resolve(answer);
          },
        };
        questions.add(question);
        signal.addEventListener("abort", () => {
          questions.delete(question);
          reject(signal.reason);
        });
      }),
    close: async () => undefined,
  };

  const life = async () => {
    let dead = false;
    const { db } = store;
    const self = cardOf("alice").agentId;
    const clock = (): number => (now.ms += 1);
    const firewall = Firewall.create({
      db,
      self,
      contacts: "everyone",
      path,
      folder,
      callbacks,
      random: randomBytes,
      logger,
      sleep: () => (dead ? new Promise(() => undefined) : Promise.resolve()),
      onAdmitted: () => void raised++,
      onHoldTools: () => undefined,
      watch: { watchMs: 1, settledMs: 1, absentMs: 1, ...watch },
    });
    let hasMore = true;
    const turns = Turns.create<Work>(db, clock, {
      initial: emptyWork,
      flush: (turn) => {
        const options = { self, random: randomBytes, logger, admit: firewall.admit, more: hasMore };
        const admitted = admitCommitted(turn, options);
        hasMore = admitted.hasMore;
        if (admitted.raised) raised++;
      },
      committed: firewall.committed,
    });
    await turns.run(() => undefined);
    await firewall.start({
      run: (work) => writable.then(() => (dead ? new Promise(() => undefined) : turns.run(work))),
    });
    return {
      firewall,
      turns,
      kill: () => {
        dead = true;
        void firewall.close();
      },
    };
  };

  write(file);
  let current = await life();
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await current.firewall.close();
    await current.turns.close();
    store.remove();
  };
  const closeOnce = (): Promise<void> => (closed ??= close());
  onTestFinished(closeOnce);

  const standing = (): string => {
    const row = store.db.get(
      `SELECT (SELECT count(*) FROM pending) || (SELECT count(*) FROM firewall_queue) || ' ' ||
         (SELECT count(*) FROM firewall_hold) || ' ' || (SELECT count(*) FROM inbox) AS standing`,
    );
    return `${String(row?.["standing"])} ${questions.size} ${[...questions].map(({ text }) => text).join()}`;
  };

  return {
    store,
    path,
    log,
    raised: () => raised,
    questions,
    firewall: () => current.firewall,
    conversation: (...others) => makeConversation(store, "alice", ["alice", ...others]),
    post: (conversation, author, text) =>
      current.turns.run((turn) => {
        conversation.post(author, Content.ofText(text));
        turn.state = { ...turn.state, commits: turn.state.commits + 1 };
      }),
    fail: ({ members }) =>
      current.turns.run((turn) => {
        const postId = PostId.fromBytes(randomBytes(32));
        turn.db.run(
          `INSERT INTO intent (conversation_id, post_id, operation_id, intent, intent_hash, created_at)
           VALUES (?, ?, ?, '{}', '', 0)`,
          members.conversationId,
          postId,
          OperationId.fromBytes(randomBytes(16)),
        );
        turn.state = { ...turn.state, ended: [...turn.state.ended, { postId, outcome: "withdrawn" }] };
      }),
    rules: async (content) => {
      const before = log.length;
      write(content);
      const isSaid = (words: RegExp) => log.slice(before).some(({ event }) => words.test(event));
      await until("the file is seen", () => isSaid(/has changed|no firewall any more/));
      if (content !== null) await until("the rules count", () => isSaid(/in force|cannot be used/));
    },
    pauseWriting: () => {
      const paused = Promise.withResolvers<void>();
      writable = paused.promise;
      return paused.resolve;
    },
    restart: async () => {
      current.kill();
      questions.clear();
      store.reopen();
      store.db.run("PRAGMA synchronous = OFF");
      const before = log.length;
      current = await life();
      // A queue without a file waits until it is sure that there is none.
      if (existsSync(path) || Queue.isEmpty(store.db) || watch.absentMs !== undefined) return;
      await until("its absence counts", () => log.slice(before).some(({ event }) => /any more/.test(event)));
    },
    rest: async () => {
      let same = 0;
      for (let before = ""; same < 8;) {
        await setImmediate();
        const at = standing();
        same = at === before ? same + 1 : 0;
        before = at;
      }
    },
    close: closeOnce,
    inbox: () => {
      const texts: Array<string> = [];
      let page = Inbox.page(store.db);
      for (;;) {
        texts.push(...page.items.map(({ item }) => textOf(item)));
        if (page.nextCursor === undefined) return texts;
        page = Inbox.page(store.db, page.nextCursor);
      }
    },
  };
};
