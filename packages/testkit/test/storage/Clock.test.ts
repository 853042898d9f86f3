// Clocks that jump, and a process that stands still: nothing here may depend on the time of day going on evenly.

import { expect } from "vitest";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

const hourMs = 3_600_000;

verifies(
  "RUN-123",
  "an endpoint whose clock goes back an hour or forward by more than a day goes on, one conversation of two and one of four",
  async () => {
    const network = await testNetwork();
    let shift = 0;
    const ann = await network.open("ann", { clock: () => Date.now() + shift });
    const others = await network.openAll(["bob", "cyd", "dan"]);
    const [bob] = others;
    const group = "group:ann,bob,cyd,dan";
    const texts: Array<string> = [];
    for (const hours of [0, -1, 25, 0]) {
      shift = hours * hourMs;
      // Each side begins once, to both.
      await ann.send("agent:bob", `from ann at ${hours}`);
      await bob.send("agent:ann", `from bob at ${hours}`);
      await bob.send(group, `to all at ${hours}`);
      await ann.send(group, `from ann to all at ${hours}`);
      texts.push(`from bob at ${hours}`, `to all at ${hours}`);
    }
    await ann.untilItems(texts.length);
    expect(ann.texts()).toEqual(texts);
    await Promise.all(others.slice(1).map((agent) => agent.untilItems(8)));
    const problems = ann.lines.filter(({ level }) => level === "error");
    expect(problems).toEqual([]);
    expect((await network.judge(["ann", "bob", "cyd", "dan"])).problems).toEqual([]);
  },
  240_000,
);

verifies(
  "RUN-329",
  "what was posted under a clock that stood at 1970 ends as told when the clock is set, and the conversation goes on",
  async () => {
    const network = await testNetwork();
    let shift = 0;
    const more = { clock: () => Date.now() + shift, sendWaitMs: 50 };
    let ann = await network.open("ann", more);
    const bob = await network.open("bob");
    await bob.send("agent:ann", "before");
    await ann.untilItems(1);
    await bob.close();
    shift = -Date.now();
    const post = await ann.send("agent:bob", "nobody is there", { idempotencyKey: "early" });
    expect(post.status).toBe("pending");
    await ann.close();
    shift = 0;
    ann = await network.open("ann", more);
    expect((await ann.untilItems(2)).at(-1)?.item).toMatchObject({
      kind: "operationFailed",
      postId: post.postId,
      error: { reason: "outcome-unknown" },
    });
    const again = ann.send("agent:bob", "nobody is there", { idempotencyKey: "early" });
    await expect(again).rejects.toMatchObject({ reason: "outcome-unknown" });
    const back = await network.open("bob");
    await ann.send("agent:bob", "in time", { waitMs: 45_000 });
    // What was told as unknown may have come before it: its proposal was out.
    await until("it has come", () => back.texts().at(-1) === "in time");
    expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
  },
  120_000,
);

verifies(
  "RUN-124",
  "a daemon that was suspended goes on where it stood, and what came meanwhile arrives in order",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (text: string) =>
      bob.client.call("send_message", { input: { to: "agent:ann", text }, idempotencyKey: text });
    await send("before");
    ann.resident.pause();
    const sent = Promise.all(["one", "two"].map(send));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    ann.resident.resume();
    await sent;
    await Town.eventually("all has come", async () => (await Town.inbox(ann)).length === 3);
    expect((await Town.inbox(ann)).map(({ text }) => text).toSorted()).toEqual(["before", "one", "two"]);
    await Town.eventually("it is ready", async () => (await Town.readiness(ann)).status === 200);
    expect(town.ends).toEqual([]);
  },
  120_000,
);
