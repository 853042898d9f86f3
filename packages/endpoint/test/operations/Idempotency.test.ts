import { expect } from "vitest";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

const key = { idempotencyKey: "one errand" };

const postsOf = ({ db }: NetworkAgent): number => Number(db.get("SELECT count(*) AS n FROM intent")?.["n"]);

verifies(
  "OPS-21",
  "C77: two calls at once under one key are one post, also as the first word to an agent",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    const calls = Array.from({ length: 8 }, () => ann.send("agent:bob", "once", key));
    const [first, ...others] = await Promise.all(calls);
    for (const other of others) expect(other).toEqual(first);
    expect(first?.status).toBe("certified");
    await ann.send("agent:bob", "marker");
    await bob.untilItems(2);
    expect(bob.texts()).toEqual(["once", "marker"]);
    expect(postsOf(ann)).toBe(2);
  },
);

verifies(
  "OPS-21",
  "a retry joins while the post is pending, and gets its result when it is certified",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await bob.close();
    const shortly = { ...key, waitMs: 200 };
    const pending = await ann.send("agent:bob", "once", shortly);
    expect(pending.status).toBe("pending");
    expect(await ann.send("agent:bob", "once", shortly)).toEqual(pending);
    await ann.close();
    const again = await network.open("ann");
    const joined = again.send("agent:bob", "once", key);
    const back = await network.open("bob");
    expect(await joined).toEqual({ ...pending, status: "certified" });
    expect(await again.send("agent:bob", "once", key)).toEqual({ ...pending, status: "certified" });
    await again.close();
    const later = await network.open("ann");
    expect(await later.send("agent:bob", "once", key)).toEqual({ ...pending, status: "certified" });
    await back.untilItems(1);
    expect(back.texts()).toEqual(["once"]);
    expect(postsOf(later)).toBe(1);
  },
);

verifies(
  "OPS-22",
  "another input under the key is a conflict; the same one under another spelling is not",
  async () => {
    const network = await testNetwork();
    const [ann] = await network.openAll(["ann", "bob", "cyd"]);
    const first = await ann.send("group:bob,cyd", "once", key);
    expect(await ann.send("group:ann,cyd,bob", "once", key)).toEqual(first);
    for (const [to, text] of [
      ["group:bob,cyd", "twice"],
      ["agent:bob", "once"],
      ["group:bob,cyd", "once "],
    ] as const) {
      await expect(ann.send(to, text, key)).rejects.toMatchObject({ reason: "idempotency-conflict" });
    }
    await ann.close();
    const again = await network.open("ann");
    await expect(again.send("agent:bob", "once", key)).rejects.toMatchObject({
      reason: "idempotency-conflict",
    });
    expect(await again.send("group:bob,cyd", "once", key)).toEqual(first);
    expect(postsOf(again)).toBe(1);
  },
);

verifies(
  "OPS-21",
  "two calls at once with different inputs under one key are one post and one conflict",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    const settled = await Promise.allSettled([
      ann.send("agent:bob", "left", key),
      ann.send("agent:bob", "right", key),
    ]);
    expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await bob.untilItems(1);
    expect(postsOf(ann)).toBe(1);
  },
);

verifies(
  "OPS-24",
  "C77: a call whose process is killed before its answer is found again by its key, as one post",
  async () => {
    const network = await testNetwork();
    const bob = await network.open("bob");
    const child = await network.spawn("ann");
    await child.send("agent:bob", "before");
    const cut = child.send("agent:bob", "once", "one errand");
    const settled = cut.then(
      () => undefined,
      () => undefined,
    );
    await until("bob holds it", () => bob.texts().includes("once"));
    await child.kill();
    await settled;
    const again = await network.spawn("ann");
    const first = await again.send("agent:bob", "once", "one errand");
    expect(first.status).toBe("certified");
    expect(await again.send("agent:bob", "once", "one errand")).toEqual(first);
    await again.send("agent:bob", "after");
    await bob.untilItems(3);
    expect(bob.texts()).toEqual(["before", "once", "after"]);
    await again.close();
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
);
