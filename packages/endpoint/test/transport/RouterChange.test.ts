import { expect } from "vitest";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import * as Equivocations from "../../src/transport/Equivocations.ts";
import * as RouterTerms from "../../src/transport/RouterTerms.ts";
import { cursorOf, forgedHead, instanceOf } from "./ForgingRouter.ts";
import { openStranger, packed } from "./Stranger.ts";

const names = ["ann", "bob", "cyd", "dan"] as const;

const addressFor = (self: string, members: ReadonlyArray<string>): string =>
  members.length === 2 ? `agent:${members.find((name) => name !== self)}` : `group:${members.join()}`;

/** The data folder is lost; whoever runs the Router starts it again on its address with nothing in it. */
const loseLog = async (network: TestNetwork): Promise<void> => {
  await network.router.stop();
  network.router.replaceLog(null);
  await network.router.start();
};

const roundsIn = async (agent: NetworkAgent, address: string): Promise<ReadonlyArray<number>> =>
  (await agent.history(address)).map(({ routerAnchor }) => Reanchor.bodyOf(routerAnchor).round);

for (const count of [2, 3, 4]) {
  const members = names.slice(0, count);
  verifies(
    ["HIS-130", "HIS-131"],
    `after the Router lost its data a conversation of ${count} goes on in a new round, and nothing is lost or doubled`,
    async () => {
      const network = await testNetwork();
      const agents = await network.openAll(members);
      const [ann, bob] = agents as [NetworkAgent, NetworkAgent];
      const toAll = (agent: NetworkAgent): string => addressFor(agent.name, members);
      for (const agent of agents)
        expect((await agent.send(toAll(agent), `${agent.name} before`)).status).toBe("certified");
      const first = instanceOf(ann);
      await network.router.stop();
      const pending = await ann.send(toAll(ann), "said to nobody", { waitMs: 50 });
      expect(pending.status).toBe("pending");
      await loseLog(network);
      expect((await bob.send(toAll(bob), "after")).status).toBe("certified");
      await ann.untilItems(count);
      await bob.untilItems(count);
      expect(instanceOf(ann)).not.toBe(first);
      expect(agents.map(({ db }) => LostMemory.notedAt(db))).toEqual(agents.map(() => null));
      const rounds = await roundsIn(ann, toAll(ann));
      expect(rounds.slice(0, count)).toEqual(members.map(() => 0));
      expect(rounds.slice(count).every((round) => round > 0)).toBe(true);
      const verdict = await network.judge(members);
      expect(verdict.problems).toEqual([]);
      expect(verdict.records).toBe(count * (count + 2));
    },
  );
}

verifies(
  ["HIS-131", "HIS-135"],
  "conversations that nobody is writing in change their rounds too, many of them, and whoever was away follows",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    for (const to of ["agent:bob", "agent:cyd", "group:ann,bob,cyd"]) await ann.send(to, `to ${to}`);
    await bob.untilItems(2);
    await cyd.untilItems(2);
    await cyd.close();
    await loseLog(network);
    const anchorOf = (agent: NetworkAgent, address: string): unknown =>
      agent.db.get(
        "SELECT json_extract(state, '$.anchor.round') AS round FROM conversation WHERE address = ?",
        address,
      )?.["round"];
    await until("the direct one is in its new round", () => anchorOf(ann, "agent:bob") === 1);
    expect(anchorOf(bob, "agent:ann")).toBe(1);
    expect(anchorOf(ann, "agent:cyd")).toBe(0);
    expect(RouterTerms.countUnderEarlier(ann.db)).toBe(2);
    const back = await network.open("cyd");
    await until("all are", () => RouterTerms.countUnderEarlier(back.db) === 0);
    await until("for ann too", () => RouterTerms.countUnderEarlier(ann.db) === 0);
    expect(anchorOf(ann, "group:ann,bob,cyd")).toBe(anchorOf(back, "group:ann,bob,cyd"));
    expect((await back.send("group:ann,bob,cyd", "I am back")).status).toBe("certified");
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-52", "HIS-131"],
  "a quorum goes on without whoever is away, who has it all after its return",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd, dan] = await network.openAll(names);
    const to = `group:${names.join()}`;
    await ann.send(to, "one");
    await dan.untilItems(1);
    await dan.close();
    await loseLog(network);
    for (const agent of [ann, bob, cyd])
      expect((await agent.send(to, `${agent.name} goes on`)).status).toBe("certified");
    const back = await network.open("dan");
    await back.untilItems(4);
    expect((await back.send(to, "so do I")).status).toBe("certified");
    const verdict = await network.judge(names);
    expect(verdict.problems).toEqual([]);
    expect(verdict.records).toBe(4 * 5);
  },
);

verifies(
  "HIS-131",
  "a first post that the lost Router took with it is certified under the new one, also where nobody had heard of it",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    await bob.close();
    await cyd.close();
    expect((await ann.send("agent:bob", "first", { waitMs: 100 })).status).toBe("pending");
    expect((await ann.send("group:ann,bob,cyd", "first to all", { waitMs: 100 })).status).toBe("pending");
    await until("the Router has them", () => ann.db.get("SELECT 1 FROM outbox") === undefined);
    await loseLog(network);
    const [later, third] = await network.openAll(["bob", "cyd"]);
    await later.untilItems(2, 60_000);
    await third.untilItems(1, 60_000);
    expect(later.texts().toSorted()).toEqual(["first", "first to all"]);
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-130", "HIS-133"],
  "an instance that comes back is taken up where it was left, and what it still holds does no harm",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    const first = instanceOf(ann);
    await network.router.stop();
    network.router.saveLog("first");
    await loseLog(network);
    await ann.send("agent:bob", "two");
    await bob.untilItems(2);
    await ann.close();
    await network.router.stop();
    network.router.replaceLog("first");
    await network.router.start();
    const again = await network.open("ann");
    await again.send("agent:bob", "three");
    await bob.untilItems(3);
    expect(bob.texts()).toEqual(["one", "two", "three"]);
    expect(instanceOf(bob)).toBe(first);
    expect([again, bob].map(({ db }) => LostMemory.notedAt(db))).toEqual([null, null]);
    expect(RouterTerms.formerTerms(bob.db)).toMatchObject([{ ending: "another-instance", term: 2 }]);
    expect(await roundsIn(bob, "agent:ann")).toEqual([0, 1, 2]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-132", "HIS-134"],
  "a Router whose log was put back is told by its tail; conversations go on in a new round of the same instance",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    await network.router.stop();
    network.router.saveLog("early");
    await network.router.start();
    expect((await ann.send("agent:bob", "two")).status).toBe("certified");
    await bob.untilItems(2);
    const cursor = cursorOf(bob);
    await ann.close();
    await network.router.stop();
    network.router.replaceLog("early");
    await network.router.start();
    await until("bob sees it", () => RouterTerms.formerTerms(bob.db).length === 1);
    expect(RouterTerms.formerTerms(bob.db)).toMatchObject([
      { ending: "rolled-back", routerInstanceId: instanceOf(bob), cursor, tail: expect.any(Number) },
    ]);
    const again = await network.open("ann");
    expect((await again.send("agent:bob", "three")).status).toBe("certified");
    expect((await bob.send("agent:ann", "four")).status).toBe("certified");
    await again.untilItems(1);
    expect((await again.history("agent:bob")).map(({ recordCore }) => recordCore.action.height)).toEqual([
      0, 1, 2, 3,
    ]);
    expect((await roundsIn(again, "agent:bob")).at(-1)).toBeGreaterThan(0);
    // The same places were signed twice now: whoever saw both keeps the proof.
    expect(Equivocations.count(again.db) + Equivocations.count(bob.db)).toBeGreaterThan(0);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-132", "HIS-134"],
  "a log that was put back while an agent was away is told by a lane that contradicts itself, and the two heads are kept",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await bob.untilItems(1);
    const mal = await openStranger(network, "mal");
    await mal.whisper(bob.card, packed(["before"]));
    await until("bob took it", () => cursorOf(bob) >= 3);
    await network.router.stop();
    network.router.saveLog("early");
    await network.router.start();
    const tail = cursorOf(bob) + 3;
    for (let i = 0; i < 3; i++) await mal.whisper(bob.card, packed([`first ${i}`]));
    await until("bob took them", () => cursorOf(bob) >= tail);
    await bob.close();
    await network.router.stop();
    network.router.replaceLog("early");
    await network.router.start();
    for (let i = 0; i < 5; i++) await mal.whisper(bob.card, packed([`second ${i}`]));
    const back = await network.open("bob");
    await until("bob sees it", () => RouterTerms.formerTerms(back.db).length > 0);
    expect(RouterTerms.formerTerms(back.db)).toMatchObject([{ ending: "rolled-back", tail: null }]);
    expect(Equivocations.count(back.db)).toBeGreaterThan(0);
    expect((await back.send("agent:ann", "goes on")).status).toBe("certified");
    await ann.untilItems(1);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-54", "HIS-136"],
  "two heads that the Router signed for one place of a lane are a proof, shown to all, and cause for a round",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    const to = "group:ann,bob,cyd";
    await ann.send(to, "one");
    await bob.untilItems(1);
    await cyd.untilItems(1);
    const lane = String(bob.db.get("SELECT lane FROM conversation")?.["lane"]) as Opaque32;
    const other = forgedHead(network, bob, lane, 1);
    const mal = await openStranger(network, "mal");
    const unsigned = { ...other, signature: forgedHead(network, bob, lane, 2).signature };
    await mal.whisper(bob.card, packed([0], unsigned));
    await mal.whisper(bob.card, packed([0], other));
    await mal.whisper(bob.card, packed([0], other));
    await until("all hold the proof", () => [ann, bob, cyd].every(({ db }) => Equivocations.count(db) === 1));
    const [proof] = Equivocations.all(bob.db);
    expect(proof?.[1]).toEqual(other);
    expect({ ...proof?.[0], laneHead: "", signature: "" }).toEqual({ ...other, laneHead: "", signature: "" });
    expect(Equivocations.all(cyd.db)).toEqual([proof]);
    expect((await ann.send(to, "two")).status).toBe("certified");
    expect(await roundsIn(ann, to)).toEqual([0, 1]);
    // One proof is cause enough: a lane that was forked gives one with every envelope.
    await mal.whisper(bob.card, packed([0], forgedHead(network, bob, lane, 2)));
    await until("it is kept", () => Equivocations.count(bob.db) === 2);
    expect((await bob.send(to, "three")).status).toBe("certified");
    expect(await roundsIn(bob, to)).toEqual([0, 1, 1]);
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);
