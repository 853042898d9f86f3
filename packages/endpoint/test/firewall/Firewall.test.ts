// The way of an item between classification and inbox, with rules alone and with a checker that takes its time.

import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as Content from "@social-harness/protocol/history/Content";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, vi } from "vitest";
import * as Queue from "../../src/firewall/Queue.ts";
import * as Classify from "../../src/ingress/Classify.ts";
import * as Inbox from "../../src/ingress/Inbox.ts";
import { cardOf, seededRandom } from "../ingress/CertifiedPosts.ts";
import { answered, checker, type Question, walled, type Walled } from "./WalledStore.ts";

const holds = ({ store }: Walled) =>
  store.db.all("SELECT reason, rule, explanation, ending FROM firewall_hold ORDER BY sequence");
const questionOf = (wall: Walled, text: string): Question => {
  const found = [...wall.questions].find((question) => question.text === text);
  if (found === undefined) throw new Error(`nothing is asked about ${text}`);
  return found;
};
const allow = answered({ verdict: "allow" });

verifies(
  ["ING-130", "ING-140"],
  "without a file an item is in the inbox with the turn of its commit",
  async () => {
    const wall = await walled();
    const bob = wall.conversation("bob");
    const get = vi.spyOn(wall.store.db, "get");
    await wall.post(bob, "bob", "hello");
    await wall.fail(bob);
    expect([wall.inbox(), wall.raised(), wall.firewall().holdTools()]).toEqual([
      ["hello", "failed agent:bob"],
      2,
      "kept",
    ]);
    expect(get.mock.calls.filter(([sql]) => sql.includes("firewall_"))).toEqual([]);
    expect([existsSync(wall.path), wall.log]).toEqual([false, []]);
  },
);

verifies(["ING-140", "ING-141", "ING-143"], "an item is private until its check allows it", async () => {
  const wall = await walled({ rules: [], checker });
  const bob = wall.conversation("bob");
  await wall.post(bob, "bob", "hello");
  expect(wall.store.db.get("SELECT count(*) AS n FROM pending")?.["n"]).toBe(0);
  await wall.rest();
  expect([wall.inbox(), Queue.count(wall.store.db), Inbox.unreadCount(wall.store.db)]).toEqual([[], 1, 0]);
  expect(wall.raised()).toBe(0);
  expect(questionOf(wall, "hello").asked).toEqual({
    item: expect.objectContaining({ kind: "multicast" }) as unknown,
    sender: expect.objectContaining({ agentName: "bob" }) as unknown,
    knownSender: false,
    receivedAt: expect.stringMatching(/^2026-11-30T12:/) as unknown,
  });
  questionOf(wall, "hello").answer(answered({ verdict: "allow", guidance: "He is a friend." }));
  await wall.rest();
  expect([wall.inbox(), Queue.count(wall.store.db), wall.raised()]).toEqual([["hello"], 0, 1]);
  expect(Inbox.page(wall.store.db).items[0]?.guidance).toBe("He is a friend.");
});

verifies("ING-142", "a slow check holds up its own conversation, in order, and no other", async () => {
  const wall = await walled({ rules: [{ when: { from: ["carol"] }, verdict: "allow" }], checker });
  const [bob, carol, dan] = [wall.conversation("bob"), wall.conversation("carol"), wall.conversation("dan")];
  for (const i of [1, 2, 3]) {
    await wall.post(bob, "bob", `bob ${i}`);
    await wall.post(carol, "carol", `carol ${i}`);
    await wall.post(dan, "dan", `dan ${i}`);
  }
  await wall.rest();
  expect(wall.inbox()).toEqual(["carol 1", "carol 2", "carol 3"]);
  for (const i of [1, 2, 3]) {
    expect([...wall.questions].map(({ text }) => text).toSorted()).toEqual(["bob 1", `dan ${i}`]);
    questionOf(wall, `dan ${i}`).answer(allow);
    await wall.rest();
  }
  for (const i of [1, 2, 3]) {
    questionOf(wall, `bob ${i}`).answer(allow);
    await wall.rest();
  }
  expect(wall.inbox().slice(3)).toEqual(["dan 1", "dan 2", "dan 3", "bob 1", "bob 2", "bob 3"]);
});

verifies("ING-248", "at most four checks of one principal at a time, and each gets its turn", async () => {
  const wall = await walled({ rules: [], checker });
  const names = Array.from({ length: 20 }, (_, i) => `peer-${i}`);
  for (const name of names) {
    const conversation = wall.conversation(name);
    for (const i of [1, 2]) await wall.post(conversation, name, `${name} ${i}`);
  }
  const seen: Array<string> = [];
  for (let asked = 0; asked < 40; asked++) {
    await wall.rest();
    expect(wall.questions.size).toBe(Math.min(4, 40 - asked));
    const [first] = wall.questions;
    seen.push(first?.text ?? "");
    first?.answer(allow);
  }
  await wall.rest();
  expect(seen).toEqual([...names.map((name) => `${name} 1`), ...names.map((name) => `${name} 2`)]);
  expect(wall.inbox()).toHaveLength(40);
});

verifies("ING-248", "nobody takes the places of all others, and what rules decide needs none", async () => {
  const wall = await walled({ rules: [{ when: { from: ["friend"] }, verdict: "allow" }], checker });
  const bad = Array.from({ length: 30 }, (_, i) => wall.conversation("mallory", `peer-${i}`));
  for (const conversation of bad) await wall.post(conversation, "mallory", "hang");
  await wall.rest();
  expect(wall.questions.size).toBe(4);
  await wall.post(wall.conversation("friend"), "friend", "hello");
  await wall.post(wall.conversation("carol-of-2"), "carol-of-2", "hi");
  await wall.rest();
  expect([wall.inbox(), wall.questions.size]).toEqual([["hello"], 5]);
  questionOf(wall, "hi").answer(allow);
  await wall.rest();
  expect(wall.inbox()).toEqual(["hello", "hi"]);
});

verifies("ING-144", "a held item leaves its conversation to go on, and is kept with the reason", async () => {
  const rules = [{ when: { text: "(?i)wire money" }, verdict: "hold", explanation: "Smells." }];
  const wall = await walled({ rules, checker });
  const bob = wall.conversation("bob");
  for (const text of ["hi", "please wire money", "never mind"]) await wall.post(bob, "bob", text);
  await wall.rest();
  questionOf(wall, "hi").answer(answered({ verdict: "hold", reason: "Too short." }));
  await wall.rest();
  questionOf(wall, "never mind").answer(allow);
  await wall.rest();
  expect([wall.inbox(), wall.raised()]).toEqual([["never mind"], 1]);
  expect(holds(wall)).toEqual([
    { reason: "checker", rule: null, explanation: "Too short.", ending: null },
    { reason: "rule", rule: 1, explanation: "Smells.", ending: null },
  ]);
  expect(wall.log.filter(({ event }) => event.includes("held")).map(({ fields }) => fields)).toEqual([
    { hold: expect.stringMatching(/^hld_/) as unknown, reason: "checker" },
    { hold: expect.stringMatching(/^hld_/) as unknown, reason: "rule", rule: 1 },
  ]);
  await wall.restart();
  expect(holds(wall)).toHaveLength(2);
});

verifies("ING-146", "a failure of an own post is not judged and overtakes nothing", async () => {
  const wall = await walled({ rules: [], checker });
  const [bob, carol] = [wall.conversation("bob"), wall.conversation("carol")];
  await wall.post(bob, "bob", "first");
  await wall.fail(bob);
  await wall.post(bob, "bob", "second");
  await wall.fail(carol);
  await wall.rest();
  expect([wall.inbox(), wall.raised()]).toEqual([["failed agent:carol"], 1]);
  questionOf(wall, "first").answer(answered({ verdict: "hold", reason: "no" }));
  await wall.rest();
  expect(wall.inbox()).toEqual(["failed agent:carol", "failed agent:bob"]);
  questionOf(wall, "second").answer(allow);
  await wall.rest();
  expect(wall.inbox()).toEqual(["failed agent:carol", "failed agent:bob", "second"]);
  const rows = wall.store.db.all("SELECT conversation_id, record_hash FROM inbox ORDER BY sequence");
  expect(rows.map((row) => row["record_hash"] === null && row["conversation_id"] === null)).toEqual([
    true,
    true,
    false,
  ]);
});

verifies(
  "ING-137",
  "a file that cannot be used holds everything, and one line says what is wrong",
  async () => {
    const broken: ReadonlyArray<readonly [object | string, RegExp]> = [
      ["{", /^it is no JSON$/],
      [{ rules: [{ when: {}, verdict: "hold" }] }, /^rule 1, when: expected at least one condition$/],
      [{ rules: [{ when: { text: "(" }, verdict: "hold" }] }, /^rule 1, when\.text: expected a regular expr/],
      [" ".repeat(262_145), /larger than 262144 bytes: put it back as it was$/],
    ];
    for (const [file, explanation] of broken) {
      const wall = await walled(file);
      const bob = wall.conversation("bob");
      for (const text of ["one", "two"]) await wall.post(bob, "bob", text);
      await wall.fail(bob);
      await wall.rest();
      expect(wall.inbox()).toEqual(["failed agent:bob"]);
      expect(holds(wall).map(({ reason }) => reason)).toEqual(["rules-unreadable", "rules-unreadable"]);
      const lines = wall.log.filter(({ level }) => level === "error");
      expect(lines.map(({ event, fields }) => [event, fields])).toEqual([
        [
          "firewall.json cannot be used: every message is held until it is mended",
          { explanation: expect.stringMatching(explanation) as unknown },
        ],
      ]);
      expect([wall.firewall().holdTools(), wall.firewall().standing()]).toEqual([
        "kept",
        { file: "unusable", explanation: expect.stringMatching(explanation) as unknown },
      ]);
      await wall.rules({ rules: [] });
      expect(wall.firewall().standing()).toEqual({ file: "usable", explanation: null });
      await wall.post(bob, "bob", "three");
      await wall.rest();
      expect(wall.inbox()).toEqual(["failed agent:bob", "three"]);
    }
  },
);

verifies("ING-220", "a checker whose files are not there is told at once, until they are", async () => {
  const wall = await walled();
  const program = join(dirname(wall.path), "checker");
  const words = join(dirname(wall.path), "words");
  const explanationOf = () => wall.firewall().standing().explanation;
  await wall.rules({ checker: { command: [program, "-x", words] } });
  await until("it is told", () => wall.log.some(({ level }) => level === "warn"));
  expect(wall.log.at(-1)).toEqual({
    level: "warn",
    event: "the firewall's checker is not complete: what it fails to check is held",
    fields: { explanation: "checker.command, entry 1: no program that can be run is there" },
  });
  expect(wall.firewall().standing().file).toBe("usable");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o600 });
  expect(explanationOf()).toContain("entry 1: no program that can be run");
  chmodSync(program, 0o700);
  expect(explanationOf()).toBe("checker.command, entry 3: no file is there");
  writeFileSync(words, "");
  expect(explanationOf()).toBeNull();
  await wall.rules({ checker: { url: "https://checker.example/" } });
  expect(wall.log.filter(({ level }) => level === "warn")).toHaveLength(1);
});

verifies(
  "ING-154",
  "the log says of a check that failed in which way, and repeats no word of a checker's",
  async () => {
    const wall = await walled({ checker });
    const bob = wall.conversation("bob");
    await wall.post(bob, "bob", "one");
    for (let asked = 0; asked < 3; asked++) {
      await wall.rest();
      questionOf(wall, "one").answer(answered("secret words", 500));
    }
    await wall.rest();
    expect(wall.log.filter(({ event }) => event.includes("held"))).toEqual([
      {
        level: "warn",
        event: "a message is held by the firewall",
        fields: {
          hold: expect.stringMatching(/^hld_/) as unknown,
          reason: "check-failed",
          explanation: "The checker answered with another status than 200.",
        },
      },
    ]);
  },
);

verifies("ING-138", "another file counts at once, also for what is being checked", async () => {
  const wall = await walled({ rules: [], checker });
  const bob = wall.conversation("bob");
  await wall.post(bob, "bob", "one");
  await wall.post(bob, "bob", "two");
  await wall.rest();
  const old = questionOf(wall, "one");
  await wall.rules({ rules: [{ when: { text: "one" }, verdict: "hold" }], checker, allowRelease: true });
  old.answer(allow);
  await wall.rest();
  expect([wall.inbox(), holds(wall).length, wall.firewall().holdTools()]).toEqual([[], 1, "releasable"]);
  expect([...wall.questions].map(({ text }) => text)).toEqual(["two"]);
  await wall.rules({ rules: [] });
  await wall.rest();
  expect([wall.inbox(), wall.firewall().holdTools(), wall.questions.size]).toEqual([["two"], "kept", 0]);
});

verifies(["ING-138", "ING-130"], "a file that appears is a firewall from then on", async () => {
  const wall = await walled();
  const bob = wall.conversation("bob");
  await wall.post(bob, "bob", "before");
  await wall.rules({ rules: [], otherwise: "hold" });
  await wall.post(bob, "bob", "after");
  await wall.rest();
  expect([wall.inbox(), holds(wall).length]).toEqual([["before"], 1]);
});

verifies(
  "ING-139",
  "without the file any more, what is queued goes through in order and nothing passes it",
  async () => {
    const wall = await walled({ rules: [], checker });
    const [bob, carol] = [wall.conversation("bob"), wall.conversation("carol")];
    const texts = Array.from({ length: 40 }, (_, i) => `bob ${i}`);
    for (const text of texts) await wall.post(bob, "bob", text);
    await wall.post(carol, "carol", "carol 1");
    await wall.rest();
    const removed = wall.rules(null);
    texts.push("bob last");
    await removed;
    await wall.post(bob, "bob", "bob last");
    await wall.rest();
    expect(wall.inbox().filter((text) => text.startsWith("bob"))).toEqual(texts);
    expect([wall.inbox().length, Queue.count(wall.store.db), wall.questions.size]).toEqual([42, 0, 0]);
    expect(wall.firewall().holdTools()).toBe("kept");
  },
);

verifies(
  "ING-149",
  "an item that cannot be read stays queued and holds back its own conversation",
  async () => {
    const wall = await walled({ rules: [], checker });
    const [bob, carol] = [wall.conversation("bob"), wall.conversation("carol")];
    for (const text of ["one", "two", "three"]) await wall.post(bob, "bob", text);
    await wall.post(carol, "carol", "carol 1");
    await wall.rest();
    wall.store.db.run("UPDATE firewall_queue SET item = '{}' WHERE sequence = 2");
    questionOf(wall, "one").answer(allow);
    questionOf(wall, "carol 1").answer(allow);
    await wall.rest();
    expect(wall.inbox().toSorted()).toEqual(["carol 1", "one"]);
    expect([Queue.count(wall.store.db), wall.questions.size]).toEqual([2, 0]);
    expect(wall.log.filter(({ level }) => level === "error")).toHaveLength(1);
    await wall.rules(null);
    await wall.post(carol, "carol", "carol 2");
    await wall.rest();
    expect([wall.inbox().length, Queue.count(wall.store.db)]).toEqual([3, 2]);
  },
);

verifies("ING-141", "nothing is asked about an item whose turn came to nothing", async () => {
  const wall = await walled({ rules: [], checker });
  const [bob, carol] = [wall.conversation("bob"), wall.conversation("carol")];
  const lost = (): void =>
    wall.store.db.transaction(() => {
      bob.post("bob", Content.ofText("never said"));
      Classify.classifyPending(wall.store.db, {
        self: cardOf("alice").agentId,
        now: 0,
        random: seededRandom("tokens"),
        rowsMax: 9,
        admit: wall.firewall().admit,
      });
      expect(Queue.count(wall.store.db)).toBe(1);
      throw new Error("killed before the commit");
    });
  expect(lost).toThrow("killed");
  await wall.post(carol, "carol", "said");
  await wall.rest();
  expect([...wall.questions].map(({ text }) => text)).toEqual(["said"]);
});

verifies(
  ["ING-138", "ING-139"],
  "a file that is back before it was gone in force lets nothing through",
  async () => {
    const wall = await walled({ rules: [], checker });
    const bob = wall.conversation("bob");
    for (const text of ["one", "two"]) await wall.post(bob, "bob", text);
    await wall.rest();
    // The verdict that is being written keeps the end of the old rules from being put in force.
    const goOn = wall.pauseWriting();
    questionOf(wall, "one").answer(allow);
    await wall.rest();
    await wall.rules(null);
    const back = wall.rules({ rules: [], otherwise: "hold" });
    await until("the new file is seen", () => wall.log.some(({ event }) => event.endsWith("has changed")));
    goOn();
    await back;
    await wall.rest();
    expect([wall.inbox(), holds(wall).length]).toEqual([["one"], 1]);
  },
);

verifies(
  "ING-149",
  "verdicts that the store refuses are tried again, and hold up no other conversation",
  async () => {
    const wall = await walled({ rules: [] });
    const { db } = wall.store;
    db.run(`CREATE TEMP TRIGGER refusing BEFORE DELETE ON firewall_queue WHEN instr(old.item, 'refused') > 0
    BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    const names = Array.from({ length: 10 }, (_, i) => `peer-${i}`);
    const conversations = names.map((name) => wall.conversation(name));
    for (const [i, name] of names.entries()) await wall.post(conversations[i] as never, name, `refused ${i}`);
    await wall.post(wall.conversation("bob"), "bob", "taken");
    await wall.rest();
    expect([wall.inbox(), Queue.count(db)]).toEqual([["taken"], 10]);
    db.run("DROP TRIGGER refusing");
    await until("all are taken", () => Queue.isEmpty(db));
    expect(wall.inbox().toSorted()).toEqual(["taken", ...names.map((_, i) => `refused ${i}`)].toSorted());
  },
);
