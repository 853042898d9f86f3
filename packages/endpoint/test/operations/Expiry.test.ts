import { expect } from "vitest";
import * as Limits from "@social-harness/protocol/Limits";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

verifies(
  "OPS-10",
  "an intent that could not be proposed for seven days ends, and its sender is told; one that was proposed does not",
  async () => {
    const network = await testNetwork();
    let now = Date.UTC(2026, 10, 30);
    const more = { clock: () => now, sendWaitMs: 50 };
    let ann = await network.open("ann", more);
    await (await network.open("bob", more)).close();
    await ann.send("agent:bob", "proposed");
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
    const failed = (postId: string) => ({
      kind: "operationFailed",
      postId,
      to: "agent:bob",
      error: { reason: "outcome-unknown", message: expect.any(String) },
    });
    expect(ann.items().map(({ item }) => item)).toEqual([failed(second.postId)]);
    await expect(ann.send("agent:bob", "behind it", { idempotencyKey: "second" })).rejects.toMatchObject({
      reason: "outcome-unknown",
    });
    await ann.close();

    now += 1_000;
    ann = await network.open("ann", more);
    expect(ann.items().map(({ item }) => item)).toEqual([failed(second.postId), failed(third.postId)]);
    const bob = await network.open("bob", more);
    await bob.untilItems(1);
    await ann.send("agent:bob", "after all");
    await bob.untilItems(2);
    expect(bob.texts()).toEqual(["proposed", "after all"]);
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
