import { expect } from "vitest";
import { type ConversationId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Chains from "@social-harness/testkit/Chains";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import { createConversations, emptyWork, type Turn } from "../../src/conversations/Conversations.ts";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import * as Owner from "../../src/operations/Owner.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { hasNoticed, hasRecovered, keep, putBack, roundOf, votesOf } from "./Restoring.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

verifies(
  ["HIS-51", "HIS-164", "HIS-165"],
  "of the old copy's posts one is found certified and one is unknown, and neither is said again",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await network.router.stop();
    await until("ann sees it", () => !ann.agent.link.connected());
    const kept = await ann.send("agent:bob", "kept", { waitMs: 20, idempotencyKey: "kept" });
    const withdrawn = await ann.send("agent:bob", "withdrawn", { waitMs: 20, idempotencyKey: "withdrawn" });
    await keep(network, ann, "early");
    const newer = await network.open("ann");
    await Owner.withdraw(newer.agent, { postId: withdrawn.postId });
    await network.router.start();
    await bob.untilItems(2);
    const [old, newest] = await putBack(network, newer, "early");
    await until("it has recovered", () => hasRecovered(old));
    expect(await old.send("agent:bob", "kept", { idempotencyKey: "kept" })).toMatchObject({
      status: "certified",
      postId: kept.postId,
    });
    await expect(old.send("agent:bob", "withdrawn", { idempotencyKey: "withdrawn" })).rejects.toMatchObject({
      reason: "outcome-unknown",
    });
    expect(old.items().map(({ item }) => item)).toMatchObject([
      { kind: "operationFailed", postId: withdrawn.postId, error: { reason: "outcome-unknown" } },
    ]);
    expect((await old.send("agent:bob", "two")).status).toBe("certified");
    await bob.untilItems(3);
    expect(bob.texts()).toEqual(["one", "kept", "two"]);
    expect(roundOf(old, "agent:bob")).toBe(1);
    const again = (await old.close(), await network.open("ann"));
    expect((await again.send("agent:bob", "three")).status).toBe("certified");
    expect(roundOf(again, "agent:bob")).toBe(1);
    expect((await network.judge(["ann", "bob"], [newest])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-51", "HIS-162"],
  "an old copy is known by what the Router saw acknowledged, signs nothing while the others are away, and reads on",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await keep(network, bob, "early");
    await network.router.stop();
    await network.router.start();
    const newer = await network.open("bob");
    await ann.send("agent:bob", "two");
    await newer.untilItems(2);
    await ann.close();
    const [old, newest] = await putBack(network, newer, "early");
    await until("it is found", () => hasNoticed(old));
    const before = votesOf(old);
    expect((await old.send("agent:ann", "into the void", { waitMs: 150 })).status).toBe("pending");
    expect(votesOf(old)).toBe(before);
    expect(await old.history("agent:ann")).toHaveLength(1);
    expect(old.texts()).toEqual(["one"]);
    const back = await network.open("ann");
    await back.untilItems(1);
    expect(hasRecovered(old)).toBe(true);
    expect(old.texts()).toEqual(["one", "two"]);
    expect(back.texts()).toEqual(["into the void"]);
    expect((await network.judge(["ann", "bob"], [newest])).problems).toEqual([]);
  },
);

verifies(
  "HIS-51",
  "an old copy is known by another Router too, once that one has seen the newer store",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await keep(network, ann, "early");
    await network.router.stop();
    network.router.replaceLog(null);
    await network.router.start();
    const newer = await network.open("ann");
    await newer.send("agent:bob", "two");
    const [old, newest] = await putBack(network, newer, "early");
    await until("it has recovered", () => hasRecovered(old));
    expect((await old.send("agent:bob", "three")).status).toBe("certified");
    await bob.untilItems(3);
    expect(bob.texts()).toEqual(["one", "two", "three"]);
    expect((await network.judge(["ann", "bob"], [newest])).problems).toEqual([]);
  },
);

verifies(
  "HIS-51",
  "a process that finds it out on a later connection drops what waits and sends on",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    for (const text of ["one", "two"]) await ann.send("agent:bob", text);
    await network.router.stop();
    await until("ann sees it", () => !ann.agent.link.connected());
    // As if another process with the same keys had gone on sending.
    await ann.agent.turns.run(({ db }) => {
      const enqueued = Settings.integer(db, "enqueued_sends");
      Settings.put(db, "enqueued_sends", enqueued - 2);
      db.run("INSERT INTO outbox (sequence, message_id, envelope) VALUES (?, 'old', 'old')", enqueued - 2);
    });
    await network.router.start();
    await until("it has recovered", () => hasRecovered(ann));
    for (const text of ["three", "four"])
      expect((await ann.send("agent:bob", text)).status).toBe("certified");
    await bob.untilItems(4);
    expect(bob.texts()).toEqual(["one", "two", "three", "four"]);
    expect(ann.lines.filter(({ event }) => event.includes("refused an envelope"))).toEqual([]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-160", "HIS-165"],
  "where the Router has forgotten as well, one conversation's forgotten vote has all others told",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    await ann.send("agent:bob", "one");
    await ann.send("agent:cyd", "one");
    await keep(network, ann, "early");
    const newer = await network.open("ann");
    await newer.send("agent:bob", "two");
    await newer.send("agent:cyd", "two");
    await cyd.untilItems(2);
    await cyd.close();
    await newer.close();
    await network.router.stop();
    network.router.replaceLog(null);
    await network.router.start();
    const [old, newest] = await putBack(network, newer, "early");
    await until("it is found", () => hasNoticed(old));
    await until("cyd's alone waits", () => LostMemory.countRecovering(old.db) === 1);
    expect(
      old.db.get("SELECT address FROM conversation WHERE json_extract(state, '$.restored.at') IS NOT NULL"),
    ).toEqual({ address: "agent:cyd" });
    const back = await network.open("cyd");
    await until("it has recovered", () => hasRecovered(old));
    expect((await old.send("agent:cyd", "three")).status).toBe("certified");
    expect((await old.send("agent:bob", "three")).status).toBe("certified");
    await back.untilItems(3);
    await bob.untilItems(3);
    expect(bob.texts()).toEqual(["one", "two", "three"]);
    expect((await network.judge(["ann", "bob", "cyd"], [newest])).problems).toEqual([]);
  },
);

verifies(
  "HIS-165",
  "whoever is killed before all are told tells the rest when it is started again, and none signs before",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    ann.db.transaction(() => LostMemory.note(ann.db, Date.now()));
    const before = votesOf(ann);
    expect(LostMemory.countRecovering(ann.db)).toBe(1);
    await ann.close();
    await bob.close();
    const again = await network.open("ann");
    await until("it is told", () => again.db.get("SELECT 1 FROM untold") === undefined);
    expect(LostMemory.countRecovering(again.db)).toBe(1);
    expect(votesOf(again)).toBe(before);
    const other = await network.open("bob");
    await until("it has recovered", () => hasRecovered(again));
    expect((await other.send("agent:ann", "two")).status).toBe("certified");
    expect(roundOf(again, "agent:bob")).toBe(1);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  "HIS-165",
  "a conversation that is spoken to is told first, and a post of that moment is said, not given up",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await ann.agent.turns.run((turn) => LostMemory.note(turn.db, turn.now));
    expect((await ann.send("agent:bob", "two")).status).toBe("certified");
    expect(roundOf(ann, "agent:bob")).toBe(1);
    expect(hasRecovered(ann)).toBe(true);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-166", "HIS-167", "RUN-71"],
  "a store that is gone comes back from the members, conversation by conversation, with whoever speaks first",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const [ann, bob, cyd] = await network.openAll(names);
    const group = "group:ann,bob,cyd";
    await ann.send("agent:bob", "to bob");
    await bob.send("agent:ann", "to ann");
    await cyd.send(group, "to all");
    await ann.send(group, "to all too");
    await cyd.send("agent:ann", "cyd to ann");
    await ann.untilItems(3);
    const [empty, newest] = await putBack(network, ann, null);
    await until("it is found", () => hasNoticed(empty));
    expect(empty.db.all("SELECT * FROM conversation")).toEqual([]);
    expect(LostMemory.countRecovering(empty.db)).toBe(0);

    // One that it speaks in first, one that another does, and a group of which it lacks cards.
    expect((await empty.send("agent:cyd", "who are you")).status).toBe("certified");
    expect((await bob.send("agent:ann", "still there?")).status).toBe("certified");
    expect((await bob.send(group, "and you all?")).status).toBe("certified");
    expect(await empty.history("agent:bob")).toHaveLength(3);
    await empty.untilItems(5);
    expect(empty.texts().toSorted()).toEqual([
      "and you all?",
      "cyd to ann",
      "still there?",
      "to all",
      "to ann",
    ]);
    // What nobody ever spoke in is new, and costs no round.
    expect((await empty.send("agent:dan", "hello")).status).toBe("certified");
    expect(roundOf(empty, "agent:dan")).toBe(0);
    expect([roundOf(empty, "agent:bob"), roundOf(empty, "agent:cyd"), roundOf(empty, group)]).toEqual([
      1, 1, 1,
    ]);
    expect(hasRecovered(empty)).toBe(true);
    expect((await network.judge(names, [newest])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-166", "HIS-167"],
  "two of whom each has been restored once open new conversations, and one with a third",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    for (const agent of [ann, bob]) {
      await agent.agent.turns.run((turn) => LostMemory.note(turn.db, turn.now));
    }
    expect((await ann.send("agent:bob", "new")).status).toBe("certified");
    expect((await bob.send("group:ann,bob,cyd", "new to all")).status).toBe("certified");
    expect((await cyd.send("agent:ann", "new too")).status).toBe("certified");
    expect(roundOf(ann, "agent:cyd")).toBe(0);
    expect([ann, bob].map(hasRecovered)).toEqual([true, true]);
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies(
  "HIS-178",
  "a loss covers what turns up until another Router has taken the place of the one of then",
  () => {
    const db = temporaryStore();
    const [first, second] = [1, 2].map((byte) => RouterInstanceId.fromBytes(Buffer.alloc(16, byte)));
    expect(LostMemory.covers(db)).toBe(false);
    // Before the first Router: the first one is that of the loss.
    LostMemory.note(db, 10);
    RouterTerms.bind(db, first as RouterInstanceId, 20);
    expect(LostMemory.covers(db)).toBe(true);
    RouterTerms.bind(db, second as RouterInstanceId, 30);
    expect(LostMemory.covers(db)).toBe(false);
    LostMemory.note(db, 40);
    expect(LostMemory.covers(db)).toBe(true);
    RouterTerms.rollBack(db, 0, null, 50);
    expect(LostMemory.covers(db)).toBe(false);
  },
);

verifies("HIS-165", "conversations are told 32 in a turn, and one that is spoken to before them", () => {
  const db = temporaryStore();
  const ann = Chains.actor("ann");
  const ids = Array.from({ length: 70 }, (_, i) => {
    const members = Membership.ofCards([ann.card, Chains.actor(`peer-${i}`).card]);
    return ConversationRows.create(db, members, ann.card.agentId).members.conversationId;
  }).toSorted();
  const conversations = createConversations({
    self: ann.card.agentId,
    signer: ann.signer,
    trust: Chains.trust,
    logger: () => undefined,
    connection: () => ({ routerInstanceId: null, folded: false }),
    admits: () => true,
  });
  const inTurn = (now: number, work: (turn: Turn) => unknown): Turn => {
    const turn: Turn = { db, now, state: emptyWork };
    db.transaction(() => {
      work(turn);
      conversations.flush(turn);
    });
    conversations.publish(turn.state);
    return turn;
  };
  const untold = (): number => Number(db.get("SELECT count(*) AS n FROM untold")?.["n"]);
  expect(inTurn(10, conversations.loseMemory).state.lostMemory).toBe(true);
  expect([untold(), LostMemory.countRecovering(db), LostMemory.notedAt(db)]).toEqual([70, 70, 10]);
  const spoken = ids[3] as ConversationId;
  inTurn(20, (turn) => conversations.feed(turn, spoken, { kind: "tick" }));
  expect(untold()).toBe(69);
  const tellAfter = (after: ConversationId | null): ConversationId | null => {
    let last: ConversationId | null = null;
    inTurn(30, (turn) => (last = conversations.tellSome(turn, after)));
    return last;
  };
  const first = tellAfter(null);
  expect([first, untold()]).toEqual([ids[32], 37]);
  const second = tellAfter(first);
  expect([second, untold()]).toEqual([ids[64], 5]);
  expect([tellAfter(tellAfter(second)), untold()]).toEqual([null, 0]);
  expect(LostMemory.countRecovering(db)).toBe(70);
  inTurn(40, (turn) => {
    expect(conversations.get(turn, spoken)?.state.restored?.at).toBe(19);
    expect(conversations.get(turn, ids[0] as ConversationId)?.state.restored?.at).toBe(29);
  });
});
