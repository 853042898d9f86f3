import { expect } from "vitest";
import { OperationError } from "@social-harness/endpoint/operations/OperationError";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

const reasonOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    return `no failure: ${JSON.stringify(await call)}`;
  } catch (error) {
    if (error instanceof OperationError) return error.reason;
    throw error;
  }
};

const countOf = ({ db }: NetworkAgent, table: string): number =>
  Number(db.get(`SELECT count(*) AS n FROM ${table}`)?.["n"]);

verifies(
  "OPS-30",
  "what is no address, or names the wrong agents, is refused before anything is written",
  async () => {
    const network = await testNetwork();
    const ann = await network.open("ann");
    const names = (count: number): string =>
      Array.from({ length: count }, (_, i) => `agent-${String(i).padStart(2, "0")}`).join();
    const refusals = {
      "invalid-address": [
        "",
        "bob",
        "agent:",
        "agent:Bob",
        "agent: bob",
        "agent:bob ",
        "AGENT:bob",
        "agent:bob,cyd",
        "agent:b\u00f6b",
        "agent:ab",
        `agent:${"a".repeat(33)}`,
        "group:",
        "group:bob,,cyd",
        "group:bob, cyd",
        "group:bob,Cyd",
        "group:bob,cyd,",
        "cnv_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        `group:${"a".repeat(100_000)}`,
      ],
      "membership-invalid": [
        "agent:ann",
        "group:ann",
        "group:bob",
        "group:ann,bob",
        "group:bob,bob",
        "group:bob,cyd,bob",
        "group:ann,bob,cyd,ann",
        `group:${names(32)}`,
        `group:ann,${names(32)}`,
      ],
    };
    for (const [reason, addresses] of Object.entries(refusals)) {
      for (const to of addresses) expect([to, await reasonOf(ann.send(to, "x"))]).toEqual([to, reason]);
    }
    expect(countOf(ann, "intent")).toBe(0);
    expect(countOf(ann, "conversation")).toBe(0);
  },
);

verifies("OPS-31", "a name that nobody has is an unknown agent, alone and in a group", async () => {
  const network = await testNetwork();
  const [ann] = await network.openAll(["ann", "bob"]);
  expect(await reasonOf(ann.send("agent:nobody", "x"))).toBe("unknown-agent");
  expect(await reasonOf(ann.send("group:bob,nobody", "x"))).toBe("unknown-agent");
  expect(countOf(ann, "conversation")).toBe(0);
});

verifies(
  ["OPS-01", "FND-33"],
  "a group is the same group in any order and with or without the local name",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob", "cyd"]);
    for (const to of ["group:ann,bob,cyd", "group:cyd,bob", "group:bob,cyd,ann"]) {
      expect((await ann.send(to, to)).status).toBe("certified");
    }
    expect((await bob.send("group:cyd,ann", "from bob")).status).toBe("certified");
    await until("ann holds all", () => countOf(ann, "record") === 4);
    expect(await ann.history("group:ann,bob,cyd")).toHaveLength(4);
    expect(countOf(ann, "conversation")).toBe(1);
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies(
  ["OPS-02", "OPS-03", "OPS-20"],
  "a text becomes exactly one text part, answered when it is certified here, and every call is a new post",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    const sent = [await ann.send("agent:bob", "same"), await ann.send("agent:bob", "same")];
    const records = await ann.history("agent:bob");
    expect(records.map(({ recordCore }) => recordCore.action.postIntent)).toMatchObject(
      sent.map(({ postId }) => ({ postId, content: [{ type: "text", text: "same" }] })),
    );
    expect(sent.map(({ status }) => status)).toEqual(["certified", "certified"]);
    expect(new Set(sent.flatMap(({ postId, operationId }) => [postId, operationId])).size).toBe(4);
    const items = await bob.untilItems(2);
    expect(items.map(({ item }) => item)).toEqual(
      sent.map(({ postId }) => ({
        kind: "multicast",
        message: {
          kind: "direct",
          postId,
          address: "agent:ann",
          sender: "agent:ann",
          content: [{ type: "text", text: "same" }],
        },
      })),
    );
  },
);

verifies(
  ["OPS-32", "RUN-62"],
  "without the Registry a first contact is refused and an established conversation goes on",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob", "cyd"]);
    await ann.send("agent:bob", "while it is up");
    await network.registry.stop();
    expect(await reasonOf(ann.send("agent:cyd", "x"))).toBe("dependency-unavailable");
    expect(await reasonOf(ann.send("group:bob,cyd", "x"))).toBe("dependency-unavailable");
    expect((await ann.send("agent:bob", "while it is down")).status).toBe("certified");
    expect((await bob.send("agent:ann", "and back")).status).toBe("certified");
    expect(countOf(ann, "conversation")).toBe(1);
    await ann.close();
    const again = await network.open("ann");
    expect((await again.send("agent:bob", "after a restart")).status).toBe("certified");
    await network.registry.start();
    expect((await again.send("agent:cyd", "x")).status).toBe("certified");
  },
);

verifies(
  ["OPS-03", "OPS-04", "OPS-05"],
  "posts to a sleeping peer are pending, and are certified in their order when it is back",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "awake");
    await bob.close();
    const texts = Array.from({ length: 30 }, (_, i) => `pending ${i}`);
    const sent = await Promise.all(texts.map((text) => ann.send("agent:bob", text, { waitMs: 300 })));
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set(["pending"]));
    const back = await network.open("bob");
    await back.untilItems(31);
    expect(back.texts()).toEqual(["awake", ...texts]);
    await until("ann holds them all", () => countOf(ann, "record") === 31);
    expect(
      (await ann.history("agent:bob")).map(({ recordCore }) => recordCore.action.postIntent.postId),
    ).toEqual(expect.arrayContaining(sent.map(({ postId }) => postId)));
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["OPS-04", "OPS-05", "OPS-06"],
  "pending posts outlive restarts of their sender, in their order, also to an address that never answered before",
  async () => {
    const network = await testNetwork();
    let ann = await network.open("ann", { sendWaitMs: 50 });
    await (await network.open("bob")).close();
    const texts: Array<string> = [];
    for (const round of [1, 2, 3]) {
      for (const i of [1, 2, 3]) {
        texts.push(`${round}.${i}`);
        expect((await ann.send("agent:bob", `${round}.${i}`)).status).toBe("pending");
      }
      await ann.close();
      ann = await network.open("ann", { sendWaitMs: 50 });
    }
    const bob = await network.open("bob");
    await bob.untilItems(9);
    expect(bob.texts()).toEqual(texts);
    await until("ann knows", () => countOf(ann, "record") === 9);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["OPS-05"],
  "a burst of calls, direct and to groups, is certified in the order of the calls at each address",
  async () => {
    const network = await testNetwork();
    const [ann, bob, cyd] = await network.openAll(["ann", "bob", "cyd"]);
    const texts = Array.from({ length: 25 }, (_, i) => `${i}`);
    const sent = texts.flatMap((text) => [
      ann.send("agent:bob", text),
      ann.send("group:bob,cyd", text),
      ann.send("agent:cyd", text),
    ]);
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set(["certified"]));
    for (const peer of [bob, cyd]) {
      await peer.untilItems(50);
      for (const kind of ["direct", "group"] as const) {
        const got = peer
          .items()
          .flatMap(({ item }) =>
            item.kind === "multicast" && item.message.kind === kind ? item.message.content : [],
          );
        expect(got).toEqual(texts.map((text) => ({ type: "text", text })));
      }
    }
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
  },
);

verifies("OPS-33", "a post that cannot be written fails, and nothing of it is sent", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await ann.send("agent:bob", "first");
  ann.db.get("PRAGMA query_only = 1");
  expect(await reasonOf(ann.send("agent:bob", "lost"))).toBe("persistence-failed");
  ann.db.get("PRAGMA query_only = 0");
  expect((await ann.send("agent:bob", "second")).status).toBe("certified");
  await bob.untilItems(2);
  expect(bob.texts()).toEqual(["first", "second"]);
  expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
});

verifies(
  ["OPS-07", "HIS-33"],
  "the first post to a group waits for all of it, a later one for its quorum",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const to = `group:${names.join()}`;
    const [ann, , , dan] = await network.openAll(names);
    await dan.close();
    expect((await ann.send(to, "genesis", { waitMs: 700 })).status).toBe("pending");
    const back = await network.open("dan");
    await back.untilItems(1);
    await until("ann knows", () => countOf(ann, "record") === 1);
    await back.close();
    expect((await ann.send(to, "with three of four")).status).toBe("certified");
  },
);

verifies("RUN-23", "closing answers those who wait, as pending, and keeps their posts", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  await bob.close();
  const waiting = ann.send("agent:bob", "kept");
  await until("it is written", () => countOf(ann, "intent") === 1);
  await ann.close();
  expect((await waiting).status).toBe("pending");
  const [, back] = await network.openAll(["ann", "bob"]);
  await back.untilItems(1);
  expect(back.texts()).toEqual(["kept"]);
});
