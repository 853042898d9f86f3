import { expect } from "vitest";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

const namesOf = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `agent-${String(i).padStart(2, "0")}`);

const recordsOf = ({ db }: NetworkAgent): number => Number(db.get("SELECT count(*) AS n FROM record")?.["n"]);

for (const count of [3, 4, 7]) {
  verifies(
    ["HIS-34", "ING-01", "ING-12", "HIS-80", "HIS-82", "HIS-84"],
    `all members of a group of ${count} post at once, and each receives every post of the others once, in one order`,
    async () => {
      const network = await testNetwork();
      const names = namesOf(count);
      const agents = await Promise.all(names.map((name) => network.open(name)));
      const to = `group:${names.join(",")}`;
      const sends = await Promise.all(
        agents.flatMap((agent) => ["a", "b"].map((text) => agent.send(to, `${agent.name} ${text}`))),
      );
      expect(new Set(sends.map(({ status }) => status))).toEqual(new Set(["certified"]));
      const total = 2 * count;
      await Promise.all(agents.map((agent) => agent.untilItems(total - 2)));
      const verdict = await network.judge(names);
      expect(verdict.problems).toEqual([]);
      expect(verdict.records).toBe(count * total);
      expect(verdict.items).toBe(count * (total - 2));
    },
  );
}

verifies(
  ["HIS-23", "HIS-80", "HIS-84"],
  "both sides of a direct conversation post at once, again and again, and both hold one chain",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    for (let round = 0; round < 12; round++) {
      const sent = await Promise.all([
        ann.send("agent:bob", `ann ${round}`),
        bob.send("agent:ann", `bob ${round}`),
      ]);
      expect(sent.map(({ status }) => status)).toEqual(["certified", "certified"]);
    }
    await Promise.all([ann.untilItems(12), bob.untilItems(12)]);
    expect(bob.texts()).toEqual(Array.from({ length: 12 }, (_, round) => `ann ${round}`));
    const { problems, records } = await network.judge(["ann", "bob"]);
    expect(problems).toEqual([]);
    expect(records).toBe(48);
  },
);

verifies(
  ["HIS-52", "ING-11"],
  "C72: with one member of four offline the others go on, and it receives every post when it returns",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const to = `group:${names.join()}`;
    const [ann, bob, cyd, dan] = await network.openAll(names);
    await ann.send(to, "all are here");
    await dan.untilItems(1);
    await dan.close();
    const texts: Array<string> = [];
    for (let round = 0; round < 5; round++) {
      for (const agent of [ann, bob, cyd]) {
        texts.push(`${agent.name} ${round}`);
        expect((await agent.send(to, `${agent.name} ${round}`)).status).toBe("certified");
      }
    }
    const back = await network.open("dan");
    await back.untilItems(16);
    expect(back.texts()).toEqual(["all are here", ...texts]);
    expect((await back.send(to, "dan is back")).status).toBe("certified");
    expect((await network.judge(names)).problems).toEqual([]);
  },
);

verifies(["RUN-64", "HIS-48"], "C72: a conversation that cannot go on stalls no other one", async () => {
  const network = await testNetwork();
  const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
  await ann.send("agent:bob", "hello");
  await ann.send("group:bob,cyd", "hello");
  await cyd.close();
  expect((await ann.send("group:bob,cyd", "needs all three", { waitMs: 300 })).status).toBe("pending");
  expect((await ann.send("agent:cyd", "needs cyd", { waitMs: 300 })).status).toBe("pending");
  for (let i = 0; i < 5; i++) {
    expect((await ann.send("agent:bob", `direct ${i}`)).status).toBe("certified");
    expect((await bob.send("agent:ann", `direct ${i}`)).status).toBe("certified");
  }
  const back = await network.open("cyd");
  await back.untilItems(3);
  expect([...back.texts()].sort()).toEqual(["hello", "needs all three", "needs cyd"]);
  await until("ann knows", () => recordsOf(ann) === 14);
  expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
});

verifies(
  ["RUN-63", "HIS-36"],
  "without the Router posts wait and reads go on; when it is back they go out in their order",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "before");
    await network.router.stop();
    await until("both see it", () => !ann.agent.link.connected() && !bob.agent.link.connected());
    const outbox = ann.db.get("SELECT max(sequence) AS last FROM outbox");
    const texts = ["one", "two", "three"];
    for (const text of texts) {
      expect((await ann.send("agent:bob", text, { waitMs: 50 })).status).toBe("pending");
    }
    expect((await bob.send("agent:ann", "and back", { waitMs: 50 })).status).toBe("pending");
    expect(await ann.history("agent:bob")).toHaveLength(1);
    // Nothing is put into the outbox before a Router has agreed with what this store remembers.
    expect(ann.db.get("SELECT max(sequence) AS last FROM outbox")).toEqual(outbox);
    await network.router.start();
    await bob.untilItems(4);
    await ann.untilItems(1);
    expect(bob.texts()).toEqual(["before", ...texts]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-43", "HIS-44", "HIS-48", "ING-11"],
  "a member whose mailbox was full learns of the gap and catches up from its peers, in every conversation",
  async () => {
    // Room for the largest page that a peer can answer with, and not for all that is posted.
    const network = await testNetwork({ routerLimits: { mailboxBytesMax: 700_000 } });
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const to = `group:${names.join()}`;
    const three = "group:ann,bob,dan";
    const [ann, bob, cyd, dan] = await network.openAll(names);
    await ann.send(to, "all are here");
    await bob.send(three, "three are here");
    await cyd.send("agent:dan", "and two");
    await dan.untilItems(3);
    await dan.close();
    const texts = Array.from({ length: 14 }, (_, i) => `${i} ${"x".repeat(60_000)}`);
    for (const text of texts) expect((await ann.send(to, text)).status).toBe("certified");
    const back = await network.open("dan");
    await back.untilItems(17);
    expect(back.lines.map(({ event }) => event)).toContain(
      "the Router no longer holds a part of the mailbox",
    );
    expect(back.texts().slice(3)).toEqual(texts);
    for (const agent of [ann, bob, cyd, back]) {
      expect((await agent.send(to, `${agent.name} goes on`)).status).toBe("certified");
    }
    expect((await cyd.send("agent:dan", "two go on")).status).toBe("certified");
    expect((await bob.send(three, "three go on")).status).toBe("certified");
    expect((await network.judge(names)).problems).toEqual([]);
  },
);

verifies(
  ["RUN-60", "HIS-83", "ING-09"],
  "SIGKILL in the middle of a burst, twice, loses, doubles and reorders nothing",
  async () => {
    const network = await testNetwork();
    const bob = await network.open("bob");
    const texts = Array.from({ length: 24 }, (_, i) => `${i}`);
    let child = await network.spawn("ann");
    for (const kill of [8, 16, null]) {
      const calls = texts.map((text) => child.send("agent:bob", text, `errand ${text}`));
      const settled = Promise.allSettled(calls);
      if (kill === null) {
        expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(
          new Set(["certified"]),
        );
        break;
      }
      await until("some have come", () => bob.texts().length >= kill);
      await child.kill();
      await settled;
      child = await network.spawn("ann");
    }
    await bob.untilItems(texts.length);
    expect(bob.texts()).toEqual(texts);
    await child.close();
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);
