// What becomes of a post that its owner takes back: at once where nobody has seen it, and as the members settle it otherwise.

import { expect } from "vitest";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Owner from "../../src/operations/Owner.ts";

const soon = { sendWaitMs: 50 };
const patient = { waitMs: 45_000 };

const failuresOf = (agent: NetworkAgent): ReadonlyArray<unknown> =>
  agent.items().flatMap(({ item }) => (item.kind === "operationFailed" ? [item] : []));

const withdrawnItem = (postId: PostId, to: string) => ({
  kind: "operationFailed",
  postId,
  to,
  error: { reason: "withdrawn", message: expect.stringContaining("withdrawn") as unknown },
});

const untilProposed = ({ db }: NetworkAgent): Promise<void> =>
  until("it is proposed", () => db.get("SELECT 1 FROM candidate") !== undefined);

verifies(
  ["HIS-152", "OPS-13"],
  "what nobody has seen ends at once, and whoever sends it again under its key is told so",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"], soon);
    await network.router.stop();
    await until("ann sees it", () => !ann.agent.link.connected());
    const { postId } = await ann.send("agent:bob", "never mind", { idempotencyKey: "one" });
    const kept = await ann.send("agent:bob", "but this");
    const withdrawn = { kind: "withdrawn", postId, address: "agent:bob" };
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual(withdrawn);
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual(withdrawn);
    expect(failuresOf(ann)).toEqual([withdrawnItem(postId, "agent:bob")]);
    await expect(ann.send("agent:bob", "never mind", { idempotencyKey: "one" })).rejects.toMatchObject({
      reason: "withdrawn",
    });
    await network.router.start();
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["but this"]);
    await until("ann knows it", () => ann.db.get("SELECT 1 FROM intent WHERE outcome IS NULL") === undefined);
    expect(await Owner.withdraw(ann.agent, { postId: kept.postId })).toEqual({
      kind: "ended",
      postId: kept.postId,
      address: "agent:bob",
      outcome: "certified",
    });
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies("OPS-13", "a post that was never called for here is unknown, another agent's too", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  const { postId } = await ann.send("agent:bob", "hello");
  await bob.untilItems(1);
  const unknown = { kind: "unknown-post" };
  expect(await Owner.withdraw(bob.agent, { postId })).toEqual(unknown);
  expect(await Owner.withdraw(ann.agent, { postId: PostId.fromBytes(Buffer.alloc(32, 1)) })).toEqual(unknown);
});

/** The withdrawal of the open proposal is signed, and the Router has it. */
const isSaid = ({ db }: NetworkAgent): boolean =>
  db.get("SELECT 1 FROM outbox") === undefined &&
  db.get("SELECT 1 FROM conversation WHERE json_extract(state, '$.open[0].withdrawal') IS NOT NULL") !==
    undefined;

/** A first post to bob, who is away, is proposed and waits; then it is withdrawn. */
const askedOfBob = async (network: TestNetwork): Promise<readonly [NetworkAgent, PostId]> => {
  await (await network.open("bob")).close();
  const ann = await network.open("ann", soon);
  const { postId } = await ann.send("agent:bob", "on second thoughts");
  await untilProposed(ann);
  return [ann, postId];
};

verifies(
  ["HIS-153", "OPS-13"],
  "a proposal that the other member has yet to see is withdrawn when it returns, and nothing is delivered",
  async () => {
    const network = await testNetwork();
    const [ann, postId] = await askedOfBob(network);
    const asked = { kind: "asked", postId, address: "agent:bob", said: true, refusable: true };
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual(asked);
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual(asked);
    expect(failuresOf(ann)).toEqual([]);
    const later = await ann.send("agent:bob", "this instead");
    expect(later.status).toBe("pending");
    await until("it is said", () => isSaid(ann));
    const bob = await network.open("bob");
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["this instead"]);
    expect(failuresOf(ann)).toEqual([withdrawnItem(postId, "agent:bob")]);
    expect(await Owner.withdraw(ann.agent, { postId })).toEqual({
      kind: "withdrawn",
      postId,
      address: "agent:bob",
    });
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-153", "OPS-13"],
  "a withdrawal without a connection is kept, through a restart too, and said as soon as there is one",
  async () => {
    const network = await testNetwork();
    const [first, postId] = await askedOfBob(network);
    await network.router.stop();
    await until("ann sees it", () => !first.agent.link.connected());
    expect(await Owner.withdraw(first.agent, { postId })).toMatchObject({ kind: "asked", said: false });
    await first.close();
    const ann = await network.open("ann", soon);
    await network.router.start();
    // Bob comes after the withdrawal: one that comes at the same time may vote before it has heard of it.
    await until("it is said", () => isSaid(ann));
    const bob = await network.open("bob");
    await until("it has ended", () => failuresOf(ann).length > 0);
    expect(failuresOf(ann)).toEqual([withdrawnItem(postId, "agent:bob")]);
    expect((await ann.send("agent:bob", "after it", patient)).status).toBe("certified");
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["after it"]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  ["HIS-153", "OPS-13"],
  "in an established group the one that was away is enough for a post to come to nothing",
  async () => {
    const network = await testNetwork();
    const names = ["ann", "bob", "cyd"] as const;
    const [ann, bob, cyd] = await network.openAll(names, soon);
    const to = `group:${names.join()}`;
    await ann.send(to, "opening", patient);
    await cyd.untilItems(1);
    await cyd.close();
    const { postId } = await ann.send(to, "without cyd");
    await until(
      "bob has voted for it",
      () => bob.db.get("SELECT 1 FROM own_vote WHERE height = 1 AND kind = 'action'") !== undefined,
    );
    expect(await Owner.withdraw(ann.agent, { postId })).toMatchObject({ kind: "asked", address: to });
    await until("it is said", () => isSaid(ann));
    const again = await network.open("cyd");
    await until("it has ended", () => failuresOf(ann).length > 0);
    expect(failuresOf(ann)).toEqual([withdrawnItem(postId, to)]);
    expect((await ann.send(to, "with everybody", patient)).status).toBe("certified");
    await Promise.all([bob.untilItems(2), again.untilItems(2)]);
    expect(bob.texts()).toEqual(["opening", "with everybody"]);
    expect((await network.judge(names)).problems).toEqual([]);
  },
);
