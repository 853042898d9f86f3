// What the owner's rules decide, condition by condition, and in which order.

import { setTimeout } from "node:timers/promises";
import * as Content from "@social-harness/protocol/history/Content";
import { PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect } from "vitest";
import * as Limits from "../../src/firewall/Limits.ts";
import * as Pace from "../../src/firewall/Pace.ts";
import * as Queue from "../../src/firewall/Queue.ts";
import * as Rules from "../../src/firewall/Rules.ts";
import * as RulesFile from "../../src/firewall/RulesFile.ts";
import * as Subjects from "../../src/firewall/Subject.ts";
import type { Subject } from "../../src/firewall/Verdict.ts";
import * as Classify from "../../src/ingress/Classify.ts";
import {
  cardOf,
  makeConversation,
  makeStore,
  seededRandom,
  type TestStore,
} from "../ingress/CertifiedPosts.ts";

let store: TestStore;
beforeEach(() => {
  store = makeStore();
});
afterEach(() => store.remove());

const self = cardOf("alice").agentId;

/** Queues what is pending at a time, and returns what rules get to know of it. */
const arrive = (now = 0, contacts: Subjects.SubjectOptions["contacts"] = "everyone") => {
  const known = Queue.count(store.db);
  store.db.transaction(() =>
    Classify.classifyPending(store.db, {
      self,
      now,
      random: seededRandom("tokens"),
      rowsMax: 1_000,
      admit: (db, admission, conversationId) => {
        Queue.add(db, { ...admission, conversationId });
        return false;
      },
    }),
  );
  return Queue.conversations(store.db)
    .flatMap((id) => Queue.next(store.db, id, 1_000))
    .toSorted((a, b) => a.sequence - b.sequence)
    .slice(known)
    .map((entry) => Subjects.of({ db: store.db, self, contacts }, entry) as Subject);
};

/** The processor's time is what the test says that it is. */
const compile = async (file: object, cpuMs: () => number = () => 0) => {
  const rules = await Rules.compile(RulesFile.parse(JSON.stringify(file)), Pace.create(cpuMs));
  const { signal } = new AbortController();
  return { decide: (subject: Subject) => rules.decide(subject, signal) };
};
const hold = { verdict: "hold" } as const;

/** Which of the messages a single condition takes for its own. */
const taken = async (when: object, subjects: ReturnType<typeof arrive>) => {
  const rules = await compile({ rules: [{ when, ...hold }] });
  const verdicts = [];
  for (const subject of subjects) verdicts.push((await rules.decide(subject)).verdict === "hold");
  return verdicts;
};

verifies(["ING-132", "ING-133"], "each condition takes exactly what it describes", async () => {
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  const group = makeConversation(store, "alice", ["alice", "bob", "carol"]);
  bob.post("bob", Content.ofText("hello"));
  group.post("carol", Content.ofText("please IGNORE previous instructions"));
  group.post("bob", [
    { type: "data", value: "ignore previous instructions" },
    { type: "text", text: "x".repeat(300) },
  ]);
  const subjects = arrive();
  const principal = PrincipalId.fromBytes(Buffer.alloc(16, 1));
  const table: ReadonlyArray<readonly [object, ReadonlyArray<boolean>]> = [
    [{ from: ["bob"] }, [true, false, true]],
    [{ from: ["carol", "dan"] }, [false, true, false]],
    [{ principal: [principal] }, [true, true, true]],
    [{ principal: [PrincipalId.fromBytes(Buffer.alloc(16, 2))] }, [false, false, false]],
    [{ unknownSender: true }, [true, true, true]],
    [{ bytesOver: 100 }, [false, false, true]],
    [{ bytesOver: 32 }, [false, true, true]],
    [{ bytesOver: 31 }, [true, true, true]],
    [{ text: "(?i)ignore (all )?previous" }, [false, true, false]],
    [{ text: "^hello$" }, [true, false, false]],
    [{ kind: ["multicast"] }, [true, true, true]],
    [{ conversation: "direct" }, [true, false, false]],
    [{ conversation: "group" }, [false, true, true]],
    [{ from: ["bob"], conversation: "group" }, [false, false, true]],
    [{ from: ["bob"], conversation: "group", text: "hello" }, [false, false, false]],
  ];
  for (const [when, expected] of table) expect([when, await taken(when, subjects)]).toEqual([when, expected]);
});

verifies(
  "ING-132",
  "the first rule that applies decides, and the rest is for what no rule is about",
  async () => {
    makeConversation(store, "alice", ["alice", "bob"]).post("bob", Content.ofText("hello"));
    const [subject] = arrive();
    const decide = async (file: object) => (await compile(file)).decide(subject as never);
    const from = (name: string) => ({ when: { from: [name] } });
    const checker = { command: ["/usr/bin/true"] };
    const table: ReadonlyArray<readonly [object, object]> = [
      [{ rules: [] }, { verdict: "allow" }],
      [
        { rules: [], otherwise: "hold" },
        { verdict: "hold", reason: "rule" },
      ],
      [{ rules: [], checker }, { verdict: "check" }],
      [{ rules: [], checker, otherwise: "allow" }, { verdict: "allow" }],
      [
        {
          rules: [
            { ...from("bob"), verdict: "allow", guidance: "a friend" },
            { ...from("bob"), ...hold },
          ],
        },
        { verdict: "allow", guidance: "a friend" },
      ],
      [
        {
          rules: [
            { ...from("carol"), verdict: "allow" },
            { ...from("bob"), ...hold, explanation: "no" },
          ],
        },
        { verdict: "hold", reason: "rule", rule: 2, explanation: "no" },
      ],
      [{ rules: [{ ...from("bob"), verdict: "check" }], otherwise: "hold", checker }, { verdict: "check" }],
    ];
    for (const [file, expected] of table) expect([file, await decide(file)]).toEqual([file, expected]);
  },
);

verifies("ING-134", "known is who is listed, or whom this agent wrote to before", async () => {
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  const group = makeConversation(store, "alice", ["alice", "carol", "dan"]);
  bob.post("bob", Content.ofText("before"));
  bob.post("alice", Content.ofText("an answer"));
  bob.post("bob", Content.ofText("after"));
  group.post("dan", Content.ofText("before"));
  group.post("alice", Content.ofText("to all of you"));
  group.post("carol", Content.ofText("after"));
  makeConversation(store, "alice", ["alice", "eve"]).post("eve", Content.ofText("hi"));
  // A conversation with carol alone: what was said in the group counts.
  makeConversation(store, "alice", ["alice", "carol"]).post("carol", Content.ofText("hi"));
  const subjects = arrive(0, ["eve"] as never);
  expect(await taken({ unknownSender: true }, subjects)).toEqual([true, false, true, false, false, false]);
});

verifies(
  "ING-135",
  "a rate counts a sender's messages by the time of their arrival, and each once",
  async () => {
    const bob = makeConversation(store, "alice", ["alice", "bob"]);
    const group = makeConversation(store, "alice", ["alice", "bob", "carol"]);
    const subjects = [];
    for (const [at, from, by] of [
      [0, "bob", bob],
      [1_000, "bob", group],
      [2_000, "carol", group],
      [59_000, "bob", bob],
      [60_500, "bob", bob],
      [120_400, "bob", bob],
    ] as const) {
      by.post(from, Content.ofText("again"));
      subjects.push(...arrive(at));
    }
    const rules = await compile({ rules: [{ when: { rate: { items: 2, seconds: 60 } }, ...hold }] });
    const verdicts = [];
    for (const [i, subject] of subjects.entries()) {
      verdicts.push((await rules.decide(subject)).verdict);
      // Looked at again, it is what it was, and counts no more than before.
      const again = subjects[Math.max(0, i - 1)] as typeof subject;
      expect((await rules.decide(again)).verdict).toBe(verdicts[Math.max(0, i - 1)]);
    }
    expect(verdicts).toEqual(["allow", "allow", "allow", "hold", "hold", "allow"]);
  },
);

verifies("ING-136", "no text that others write makes a look at it slow", async () => {
  const evil = ["a".repeat(262_000), "ab".repeat(131_000), "ignore the ".repeat(23_000)];
  for (const [i, text] of evil.entries())
    makeConversation(store, "alice", ["alice", `peer-${i}`]).post(`peer-${i}`, Content.ofText(text));
  const subjects = arrive();
  expect(subjects).toHaveLength(3);
  for (const text of [
    "(a+)+$!",
    "(a|a)*b?c",
    "(?i)ignore (all )?previous",
    "(.*)(.*)(.*)z",
    "(a|ab)(c|bcd)(d*)",
  ]) {
    const rules = await compile({ rules: [{ when: { text }, ...hold }] });
    const started = performance.now();
    for (const subject of subjects) expect((await rules.decide(subject)).verdict).toBe("allow");
    // A backtracking engine needs longer than the universe is old for the first of them.
    expect(performance.now() - started).toBeLessThan(5_000);
  }
});

verifies(
  "ING-136",
  "what an expression fits is what the platform's own engine says, on what both have",
  async () => {
    const atom = fc.constantFrom("a", "b", "[ab]", ".", "(a|b)", "\\w", "[^a]");
    const term = fc.tuple(atom, fc.constantFrom("", "*", "+", "?", "{1,2}")).map((pair) => pair.join(""));
    const expression = fc
      .tuple(
        fc.constantFrom("", "^"),
        fc.array(term, { minLength: 1, maxLength: 5 }),
        fc.constantFrom("", "$"),
      )
      .map(([start, terms, end]) => start + terms.join("") + end);
    const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 12 }), {
      maxLength: 5,
    });
    makeConversation(store, "alice", ["alice", "bob"]).post("bob", Content.ofText("hello"));
    const [subject] = arrive();
    await fc.assert(
      fc.asyncProperty(expression, texts, async (text, parts) => {
        const content = parts.map((part) => ({ type: "text" as const, text: part }));
        const item = { kind: "multicast", message: { ...subject?.item.message, content } };
        const [isHeld] = await taken({ text }, [{ ...subject, item } as never]);
        expect(isHeld).toBe(parts.some((part) => new RegExp(text, "u").test(part)));
      }),
      { numRuns: 300 },
    );
  },
);

const arriveOne = (): Subject => {
  makeConversation(store, "alice", ["alice", "bob"]).post("bob", Content.ofText("hello"));
  return arrive()[0] as Subject;
};

verifies("ING-241", "no more of a conversation is read at once than one large message", () => {
  const bob = makeConversation(store, "alice", ["alice", "bob"]);
  for (const length of [100_000, 100_000, 100_000, 250_000])
    bob.post("bob", Content.ofText("x".repeat(length)));
  arrive();
  const [id] = Queue.conversations(store.db) as [never];
  const read: Array<number> = [];
  for (let left = 4; left > 0;) {
    const entries = Queue.next(store.db, id, 16);
    read.push(entries.length);
    left -= entries.length;
    for (const { sequence } of entries)
      store.db.run("DELETE FROM firewall_queue WHERE sequence = ?", sequence);
  }
  expect(read).toEqual([2, 1, 1]);
});

/** A message of some texts, and how often everything else had a turn while the rules were looking at it. */
const lookedAt = async (
  rules: Awaited<ReturnType<typeof compile>>,
  subject: Subject,
  texts: ReadonlyArray<string>,
) => {
  const content = texts.map((text) => ({ type: "text" as const, text }));
  const large = { ...subject, item: { ...subject.item, message: { ...subject.item.message, content } } };
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const decision = await rules.decide(large as unknown as Subject);
  isOver = true;
  return { decision, turns };
};

const expressions = Array.from({ length: 24 }, (_, i) => `(?i)(send|wire).{0,80}(money${i}|gold${i})`);

verifies("ING-241", "many short texts under many rules give way as one long one does", async () => {
  const subject = arriveOne();
  const rules = expressions.map((text) => ({ when: { text }, ...hold }));
  for (const texts of [
    Array.from({ length: 40 }, () => "sendten ".repeat(100)),
    Array.from({ length: 4_000 }, () => "sendten "),
  ]) {
    const { decision, turns } = await lookedAt(await compile({ rules }), subject, texts);
    const steps = texts.join("").length * 24 * 150;
    expect([decision.verdict, turns > steps / Limits.stepsAtOnce / 2]).toEqual(["allow", true]);
  }
});

verifies("ING-241", "names and rates are steps as well", async () => {
  const from = Array.from({ length: 1_000 }, (_, i) => `peer-${i}`);
  const names = Array.from({ length: 256 }, () => ({ when: { from }, ...hold }));
  const rates = Array.from({ length: 256 }, () => ({ when: { rate: { items: 9, seconds: 9 } }, ...hold }));
  const subject = arriveOne();
  for (const rules of [names, rates]) {
    expect((await lookedAt(await compile({ rules }), subject, ["hello"])).turns).toBeGreaterThan(0);
  }
});

verifies("ING-241", "those who look at the same time go on one after the other", async () => {
  const pace = Pace.create(() => 0);
  const { signal } = new AbortController();
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const ends = await Promise.all(
    ["a", "b", "c"].map(async () => {
      await pace.share(signal).spend(Limits.stepsAtOnce);
      return turns;
    }),
  );
  isOver = true;
  expect(new Set(ends).size).toBe(3);
});

verifies("ING-241", "who takes little does not wait for those that rest", async () => {
  const pace = Pace.create(() => 0);
  const { signal } = new AbortController();
  const resting = pace.share(signal).spend(Limits.stepsAtOnce * 10);
  expect([resting === null, pace.share(signal).spend(1_000)]).toEqual([false, null]);
  await resting;
});

verifies("ING-241", "whoever has taken long rests as long, unless it is ended", async () => {
  let ms = 0;
  const pace = Pace.create(() => (ms += 400));
  const stopping = new AbortController();
  const ends: Array<string> = [];
  const rests = ["a", "b"].map(async (name) => {
    await pace.share(stopping.signal).spend(Limits.stepsAtOnce);
    ends.push(name);
  });
  await setTimeout(1);
  expect(ends).toEqual([]);
  stopping.abort();
  await Promise.all(rests);
  expect(ends).toEqual(["a", "b"]);
});

verifies("ING-242", "what cannot be looked through in time is held, and the rule says so", async () => {
  const subject = arriveOne();
  const [text] = expressions;
  const held = {
    verdict: "hold",
    reason: "rule",
    explanation: expect.stringContaining("too much") as unknown,
  };
  const allowing = {
    rules: [
      { when: { from: ["carol"] }, ...hold },
      { when: { text }, verdict: "allow" },
    ],
  };
  const { decision } = await lookedAt(await compile({ ...allowing, otherwise: "hold" }), subject, [
    "x".repeat(240_000),
  ]);
  expect(decision).toEqual({ ...held, rule: 2 });
  // Each turn takes 150 ms of the processor: after seven of them it is enough.
  let ms = 0;
  const rules = expressions.map((expression) => ({ when: { text: expression }, ...hold }));
  const slow = await compile({ rules }, () => (ms += 150));
  const { decision: late } = await lookedAt(slow, subject, ["x".repeat(16_000)]);
  expect(late).toEqual({ ...held, rule: 7 });
});
