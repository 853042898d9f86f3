// Everything between a commit and a receipt on one real store: turns, classification, firewall and webhook, with time, checker
// and receiver in the test's hand. It dies before or after a step of the story's choice; whatever the dead still try
// reaches neither the store nor anybody else, and the next life opens the file again.

import { writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import * as Content from "@social-harness/protocol/history/Content";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import type { CallbackAnswer, CallbackClient } from "../../src/callbacks/CallbackClient.ts";
import { admitCommitted } from "../../src/conversations/Admission.ts";
import { emptyWork, type Work } from "../../src/conversations/Conversations.ts";
import * as Firewall from "../../src/firewall/Firewall.ts";
import type { Database } from "../../src/store/Database.ts";
import * as Turns from "../../src/store/Turns.ts";
import * as Webhooks from "../../src/webhooks/Webhooks.ts";
import { type Death, Killed, type Request, secretOf, urlOf } from "../webhooks/WebhookBench.ts";
import { cardOf, type Conversation, makeConversation, makeStore, seededRandom } from "./CertifiedPosts.ts";
import * as Requests from "./Requests.ts";

export interface PipelineOptions {
  readonly rules: object;
  readonly check: (request: Request) => CallbackAnswer;
  readonly deliver: (request: Request) => CallbackAnswer;
  readonly death?: Death;
}

export interface Pipeline {
  readonly db: () => Database;
  /** What was begun: questions, deliveries, and commits by what they changed. Of use where nothing dies. */
  readonly steps: ReadonlyArray<string>;
  readonly died: () => boolean;
  readonly start: () => Promise<void>;
  /** Ends the process, wherever it is, and starts another one. */
  readonly restart: () => Promise<void>;
  /** Lets everything happen that needs no time. */
  readonly rest: () => Promise<void>;
  readonly subscribe: () => Promise<void>;
  readonly conversation: (...others: ReadonlyArray<string>) => Conversation;
  /** Commits another agent's post; again where a kill came before its commit. */
  readonly post: (conversation: Conversation, author: string, text: string) => Promise<void>;
  /** Lets time pass until nothing is pending, queued or unread. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** What a post passes on its way, each with what counts it. */
const places = {
  record: "count(*) FROM record",
  pending: "count(*) FROM pending",
  queue: "count(*) FROM firewall_queue",
  hold: "count(*) FROM firewall_hold",
  inbox: "count(*) FROM inbox",
  due: "coalesce(max(inbox.sequence), 0) FROM webhook_occurrence JOIN inbox USING (delivery_token)",
  receipt: "count(*) FROM inbox WHERE acknowledged_at IS NOT NULL",
  failure: "coalesce(sum(failed_attempts), 0) FROM webhook_registration",
};
const placesSql = `SELECT ${Object.entries(places)
  .map(([name, counted]) => `(SELECT ${counted}) AS "${name}"`)
  .join(", ")}`;

type Rows = Readonly<Record<string, unknown>>;
const rows = (db: Database): Rows => db.get(placesSql) as Rows;
const changeOf = (before: Rows, after: Rows): string => {
  const changed = Object.keys(places).filter((name) => before[name] !== after[name]);
  return ["commit", ...changed].join(" ");
};

const url = urlOf("https://receiver.example/hook");
const never = new Promise<never>(() => undefined);
/** Nothing takes longer to come to rest than so many turns of the event loop without a change. */
const quietImmediates = 8;

export const create = (options: PipelineOptions): Pipeline => {
  const folder = temporaryFolder();
  const path = `${folder}/firewall.json`;
  writeFileSync(path, JSON.stringify(options.rules), { mode: 0o600 });
  const store = makeStore();
  // A kill is not a power cut.
  store.db.run("PRAGMA synchronous = OFF");
  const random = seededRandom("pipeline");
  const self = cardOf("alice").agentId;
  const steps: Array<string> = [];
  let { death } = options;
  let now = Date.UTC(2026, 10, 30, 12);
  let timers: ReadonlyArray<Timer> = [];

  const live = () => {
    let dead = false;
    const ended = Promise.withResolvers<void>();
    const mortal = death;
    const check = (): void => {
      if (dead) throw new Killed("this process is no more");
    };
    const dies = (step: number, when: Death["when"]): void => {
      if (mortal === undefined || mortal.step !== step || mortal.when !== when) return;
      dead = true;
      ended.resolve();
      throw new Killed("killed");
    };
    const step = (words: string): number => {
      check();
      const begun = steps.push(words);
      dies(begun, "before");
      return begun;
    };
    const guarded =
      <Args extends ReadonlyArray<unknown>, A>(name: "get" | "all" | "run") =>
      (...args: Args): A => {
        check();
        return (store.db[name] as unknown as (...args: Args) => A)(...args);
      };
    let depth = 0;
    const db: Database = {
      get: guarded("get"),
      all: guarded("all"),
      run: guarded("run"),
      iterate: (sql, ...values) => store.db.iterate(sql, ...values),
      inTransaction: () => store.db.inTransaction(),
      close: () => {},
      transaction: (body) => {
        check();
        if (depth > 0) return store.db.transaction(body);
        const at = step("commit");
        const before = rows(store.db);
        depth += 1;
        try {
          return store.db.transaction(body);
        } finally {
          depth -= 1;
          steps[at - 1] = changeOf(before, rows(store.db));
          dies(at, "after");
        }
      },
    };
    const client = (words: string, answerOf: (request: Request) => CallbackAnswer): CallbackClient => ({
      post: async (request) => {
        const at = step(words);
        const answer = answerOf(request);
        // Whoever asks has the answer a moment later.
        await setImmediate();
        if (dead) return never;
        dies(at, "after");
        return answer;
      },
      close: async () => {},
    });
    const logger = (): void => undefined;
    const clock = (): number => now;
    const webhooks = Webhooks.create({
      db,
      client: client("delivery", options.deliver),
      scope: "agt_test",
      enabled: true,
      clock,
      random,
      schedule: (delayMs, fire) => {
        const timer: Timer = { at: now + delayMs, fire: () => (dead ? undefined : fire()) };
        timers = [...timers, timer];
        return () => {
          timers = timers.filter((other) => other !== timer);
        };
      },
      logger,
    });
    const wake = (): void => (dead ? undefined : webhooks.wake());
    const firewall = Firewall.create({
      db,
      self,
      contacts: "everyone",
      path,
      folder,
      callbacks: client("question", options.check),
      random,
      logger,
      sleep: () => (dead ? never : Promise.resolve()),
      onAdmitted: wake,
      onHoldTools: () => undefined,
    });
    let hasMore = true;
    const admit = Requests.marking(firewall.admit);
    const turns = Turns.create<Work>(db, clock, {
      initial: emptyWork,
      flush: (turn) => {
        const admitted = admitCommitted(turn, { self, random, logger, admit, more: hasMore });
        hasMore = admitted.hasMore;
      },
      committed: () => {
        firewall.committed();
        wake();
      },
    });
    return {
      firewall,
      turns,
      webhooks,
      isDead: () => dead,
      ended: ended.promise,
      kill: () => {
        dead = true;
        ended.resolve();
      },
      start: async () => {
        Requests.recover(db, { now, random, admit: firewall.admit });
        webhooks.start();
        // Takes up what an earlier life has left pending, and judges what it has left queued.
        await turns.run(() => undefined).catch(ignoreKill);
        await firewall.start({ run: (work) => (dead ? never : turns.run(work)) });
      },
    };
  };
  type Life = ReturnType<typeof live>;

  let life: Life = live();
  let died = false;

  const revive = async (): Promise<boolean> => {
    if (!life.isDead()) return false;
    died = true;
    death = undefined;
    await beginAnew();
    return true;
  };

  const beginAnew = async (): Promise<void> => {
    timers = [];
    // Ends its watch of the file. What it waits for never comes.
    void life.firewall.close();
    store.reopen();
    store.db.run("PRAGMA synchronous = OFF");
    life = live();
    await life.start().catch(ignoreKill);
  };

  const standing = (): string => {
    const row = store.db.get(
      `SELECT (SELECT count(*) FROM pending) || ' ' || (SELECT count(*) FROM firewall_queue) || ' ' ||
         (SELECT count(*) FROM inbox WHERE acknowledged_at IS NULL) AS standing`,
    );
    return String(row?.["standing"]);
  };
  const rest = async (): Promise<void> => {
    let same = 0;
    for (let before = ""; same < quietImmediates;) {
      await setImmediate();
      const at = `${standing()} ${steps.length}`;
      same = at === before ? same + 1 : 0;
      before = at;
    }
    if (await revive()) await rest();
  };
  /** What a client does whose call broke off: it calls again. */
  const insist = async (call: (life: Life) => Promise<unknown>, isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      await Promise.race([call(life).catch(ignoreKill), life.ended]);
      await revive();
    }
  };

  return {
    db: () => store.db,
    steps,
    died: () => died,
    start: async () => {
      await life.start().catch(ignoreKill);
      await revive();
    },
    restart: async () => {
      life.kill();
      await beginAnew();
      await revive();
    },
    rest,
    subscribe: () =>
      insist(
        ({ webhooks }) => webhooks.subscribe("runtime", { url, secret: secretOf("one"), ttlMs: null }),
        () => store.db.get("SELECT 1 FROM webhook_registration") !== undefined,
      ),
    conversation: (...others) => makeConversation(store, "alice", ["alice", ...others]),
    post: async (conversation, author, text) => {
      const count = (): number => Number(store.db.get("SELECT count(*) AS n FROM record")?.["n"]);
      const before = count();
      await insist(
        ({ turns }) =>
          turns.run((turn) => {
            conversation.post(author, Content.ofText(text));
            turn.state = { ...turn.state, commits: turn.state.commits + 1 };
          }),
        () => count() > before,
      );
    },
    drain: async () => {
      for (;;) {
        await rest();
        if (standing() === "0 0 0") return;
        const next = timers.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined) throw new Error(`nothing happens any more at ${standing()}`);
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.fire();
      }
    },
    close: async () => {
      await life.firewall.close();
      await life.turns.close();
      store.remove();
    },
  };
};

const ignoreKill = (error: unknown): void => {
  if (!(error instanceof Killed)) throw error;
};
