import { expect } from "vitest";
import * as Limits from "@social-harness/protocol/Limits";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

/** The withdrawal of the open proposal is signed, and the Router has it. */
const isWithdrawalSaid = ({ db }: NetworkAgent): boolean =>
  db.get("SELECT 1 FROM outbox") === undefined &&
  db.get("SELECT 1 FROM conversation WHERE json_extract(state, '$.open[0].withdrawal') IS NOT NULL") !==
    undefined;

verifies(
  "OPS-10",
  "an intent that could not be proposed for seven days ends, one that was is withdrawn, and their sender is told",
  async () => {
    const network = await testNetwork();
    let now = Date.UTC(2026, 10, 30);
    const more = { clock: () => now, sendWaitMs: 50 };
    let ann = await network.open("ann", more);
    await (await network.open("bob", more)).close();
    const first = await ann.send("agent:bob", "proposed");
    await until("it is out", () => ann.db.get("SELECT 1 FROM candidate") !== undefined);
    const second = await ann.send("agent:bob", "behind it", { idempotencyKey: "second" });
    now += 1_000;
    const third = await ann.send("agent:bob", "a second younger");
    expect(ann.items()).toEqual([]);
    await ann.close();

    now += Limits.intentLifetimeMs - 1_001;
    ann = await network.open("ann", more);
    expect(ann.items()).toEqual([]);
    await ann.close();

    now += 1;
    ann = await network.open("ann", more);
    const failed = (postId: string, reason = "outcome-unknown") => ({
      kind: "operationFailed",
      postId,
      to: "agent:bob",
      error: { reason, message: expect.any(String) as unknown },
    });
    expect(ann.items().map(({ item }) => item)).toEqual([failed(second.postId)]);
    await expect(ann.send("agent:bob", "behind it", { idempotencyKey: "second" })).rejects.toMatchObject({
      reason: "outcome-unknown",
    });
    await ann.close();

    now += 1_000;
    ann = await network.open("ann", more);
    expect(ann.items().map(({ item }) => item)).toEqual([failed(second.postId), failed(third.postId)]);
    await until("the withdrawal is said", () => isWithdrawalSaid(ann));
    const bob = await network.open("bob", more);
    const items = await ann.untilItems(3);
    expect(items.at(-1)?.item).toEqual(failed(first.postId, "withdrawn"));
    await ann.send("agent:bob", "after all", { waitMs: 45_000 });
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["after all"]);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);

verifies(
  "OPS-10",
  "expiry needs no Router: an endpoint that was never connected tells its host",
  async () => {
    const network = await testNetwork();
    let now = Date.UTC(2026, 10, 30);
    const more = { clock: () => now, sendWaitMs: 50 };
    let [ann] = await network.openAll(["ann", "bob"], more);
    await ann.close();
    await network.router.stop();
    ann = await network.open("ann", more);
    const { postId, status } = await ann.send("agent:bob", "never left");
    expect(status).toBe("pending");
    await ann.close();
    now += Limits.intentLifetimeMs;
    ann = await network.open("ann", more);
    expect(ann.items().map(({ item }) => item)).toMatchObject([{ kind: "operationFailed", postId }]);
    expect(ann.db.get("SELECT count(*) AS n FROM outbox")).toEqual({ n: 0 });
    await network.router.start();
    await ann.send("agent:bob", "new");
  },
);

verifies(
  ["HIS-155", "OPS-10"],
  "an expired proposal that nobody settles in another day ends outcome-unknown, and holds nothing up when the other returns",
  async () => {
    const network = await testNetwork();
    let now = Date.UTC(2026, 10, 30);
    const more = { clock: () => now, sendWaitMs: 50 };
    let ann = await network.open("ann", more);
    await (await network.open("bob", more)).close();
    const { postId } = await ann.send("agent:bob", "proposed", { idempotencyKey: "one" });
    await until("it is out", () => ann.db.get("SELECT 1 FROM candidate") !== undefined);
    for (const [passed, ends] of [
      [Limits.intentLifetimeMs, 0],
      [Limits.withdrawalMs - 1, 0],
      [1, 1],
    ] as const) {
      await ann.close();
      now += passed;
      ann = await network.open("ann", more);
      expect(ann.items()).toHaveLength(ends);
      await until("the withdrawal is said", () => isWithdrawalSaid(ann));
    }
    expect(ann.items().map(({ item }) => item)).toMatchObject([
      { kind: "operationFailed", postId, error: { reason: "outcome-unknown" } },
    ]);
    await expect(ann.send("agent:bob", "proposed", { idempotencyKey: "one" })).rejects.toMatchObject({
      reason: "outcome-unknown",
    });
    const bob = await network.open("bob", more);
    expect((await ann.send("agent:bob", "new", { waitMs: 45_000 })).status).toBe("certified");
    await bob.untilItems(1);
    expect(bob.texts()).toEqual(["new"]);
    expect(ann.items()).toHaveLength(1);
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);
