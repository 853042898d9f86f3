// Stores that are lost, or put back as they were before everything that they should know, while the Router's log is lost as
// well: nothing then says at once that anything is missing.

import { expect } from "vitest";
import type { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import { freshRouter, hasNoticed, hasRecovered, keep, putBack, roundOf } from "./Restoring.ts";

const names = ["ann", "bob", "cyd", "dan", "eve"] as const;
const group = "group:ann,bob,cyd,dan";

const takesUp = ({ db }: NetworkAgent, count: number): boolean =>
  Number(db.get("SELECT count(*) AS n FROM conversation WHERE head_height IS NOT NULL")?.["n"]) === count;

/** Whether the lane of a conversation begins, for this agent, with what it has said itself. */
const hasBegun = ({ db }: NetworkAgent, address: string): boolean => {
  const lane = db.get("SELECT lane FROM conversation WHERE address = ?", address)?.["lane"];
  return lane !== undefined && LostMemory.beganSince(db, lane as Opaque32);
};

/** Ann's store becomes what it was, or none, and the Router's log is lost; the others speak in all of her conversations. */
const comesBack = async (by: "early" | null): Promise<void> => {
  const network = await testNetwork();
  const [first, bob, cyd, dan, eve] = await network.openAll(names);
  await keep(network, first, "early");
  const ann = await network.open("ann");
  for (const other of ["agent:bob", "agent:eve"]) await ann.send(other, "one");
  await bob.send("agent:ann", "to ann");
  await ann.send(group, "to all");
  await cyd.send(group, "to all too");
  await ann.untilItems(2);
  await ann.close();
  await freshRouter(network);
  const [old, newest] = await putBack(network, ann, by);
  expect(hasNoticed(old)).toBe(by === null);

  expect((await eve.send("agent:ann", "still there?")).status).toBe("certified");
  expect((await bob.send("agent:ann", "and here?")).status).toBe("certified");
  expect((await dan.send(group, "and you all?")).status).toBe("certified");
  await until("all is taken up", () => takesUp(old, 3));
  for (const to of ["agent:bob", "agent:eve", group])
    expect((await old.send(to, "I am back")).status).toBe("certified");
  await until("all has recovered", () => hasRecovered(old));
  expect(["agent:bob", "agent:eve"].map((address) => roundOf(old, address))).toEqual([1, 1]);
  await old.untilItems(5);
  expect(old.texts().toSorted()).toEqual([
    "and here?",
    "and you all?",
    "still there?",
    "to all too",
    "to ann",
  ]);
  expect((await network.judge(names, [newest])).problems).toEqual([]);
};

verifies(
  ["HIS-175", "RUN-96"],
  "a store that is gone, with the Router's log lost too, takes up pairs and a group of four",
  () => comesBack(null),
  90_000,
);

verifies(["HIS-176", "RUN-97"], "so does a copy of before all of them", () => comesBack("early"), 90_000);

verifies(
  ["HIS-175", "HIS-178"],
  "whoever has lost its store and speaks first, in a lane that begins anew with the Router, is shown what it has forgotten",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await bob.close();
    await ann.close();
    await freshRouter(network);
    const [empty, newest] = await putBack(network, ann, null);
    await until("ann is connected", () => empty.agent.link.mayEnqueue());
    const said = empty.send("agent:bob", "who are you").then(
      ({ status }) => status,
      (error: { readonly reason: string }) => error.reason,
    );
    await until("her question has come back", () => hasBegun(empty, "agent:bob"));
    const back = await network.open("bob");
    expect(await said).toBe("certified");
    expect((await back.send("agent:ann", "I am bob")).status).toBe("certified");
    await empty.untilItems(1);
    expect(hasRecovered(empty)).toBe(true);
    // The one thing that a new Router can bring about: a second vote for a GENESIS, which bob does not vote for.
    const verdict = await network.judge(["ann", "bob"], [newest]);
    expect(verdict.problems).toEqual([
      expect.stringMatching(/^ann: two action votes in one slot: \S+ action 0 0 /),
    ]);
  },
);

verifies(
  ["HIS-165", "HIS-177", "RUN-98"],
  "a second loss is told to all conversations although the first one was recovered from",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    await ann.send("agent:bob", "one");
    await ann.send("agent:cyd", "one");
    await keep(network, ann, "early");
    const newer = await network.open("ann");
    await newer.send("agent:bob", "two");
    await newer.send("agent:cyd", "two");
    const [old, newest] = await putBack(network, newer, "early");
    await until("it has recovered once", () => hasRecovered(old));
    const firstAt = LostMemory.notedAt(old.db);
    await old.send("agent:bob", "three");
    await old.send("agent:cyd", "three");
    await keep(network, old, "second");
    const again = await network.open("ann");
    await again.send("agent:bob", "four");
    await again.send("agent:cyd", "four");
    await cyd.untilItems(4);
    await cyd.close();
    await again.close();
    await freshRouter(network);
    const newestAgain = network.keepStore("ann", "newest-again");
    network.replaceStore("ann", "second");
    const older = await network.open("ann");
    await until("it is found again", () => LostMemory.notedAt(older.db) !== firstAt);
    await until("cyd's alone waits", () => LostMemory.countRecovering(older.db) === 1);
    const back = await network.open("cyd");
    await until("it has recovered again", () => hasRecovered(older));
    const secondAt = LostMemory.notedAt(older.db);
    expect((await older.send("agent:cyd", "five")).status).toBe("certified");
    expect((await older.send("agent:bob", "five")).status).toBe("certified");
    await back.untilItems(5);
    await bob.untilItems(5);
    expect(bob.texts()).toEqual(["one", "two", "three", "four", "five"]);
    expect(LostMemory.notedAt(older.db)).toBe(secondAt);
    expect((await network.judge(["ann", "bob", "cyd"], [newest, newestAgain])).problems).toEqual([]);
  },
);
