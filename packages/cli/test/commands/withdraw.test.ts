// An owner takes back posts to somebody who is away: one that waits behind another, one that is out, and one too late.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, run, type Served } from "../Binary.ts";
import { joined, json, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const daemons: Array<Served> = [];

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  daemons.push(await startDaemon(ada));
});

afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

const ask = (sql: string): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const sqlite = new DatabaseSync(join(ada, "endpoint.sqlite"), { readOnly: true, timeout: 10_000 });
  try {
    return sqlite.prepare(sql).all();
  } finally {
    sqlite.close();
  }
};

const send = (text: string) => run(["send", "agent:bob-agent", text, "--state", ada, "--json"]);
const withdraw = (postId: string, ...more: ReadonlyArray<string>) =>
  run(["withdraw", postId, "--state", ada, ...more]);

/** The id of the newest own post, once there are so many. */
const newestOf = async (count: number): Promise<string> => {
  let ids: ReadonlyArray<string> = [];
  await until(`there are ${count} posts`, () => {
    ids = ask("SELECT post_id FROM intent ORDER BY sequence").map((row) => String(row["post_id"]));
    return ids.length === count;
  });
  return ids.at(-1) as string;
};

verifies(
  ["RUN-48", "HIS-152", "HIS-153"],
  "what nobody has seen is withdrawn at once, what is out is asked of the members, and what is certified stays",
  async () => {
    const out = send("is out");
    const first = await newestOf(1);
    await until("it is proposed and sent", () => ask("SELECT 1 FROM candidate").length === 1);
    const behind = send("waits behind it");
    const second = await newestOf(2);

    const address = "agent:bob-agent";
    const withdrawn = await withdraw(second, "--json");
    expect([withdrawn.code, lastJson(withdrawn)]).toEqual([
      0,
      { kind: "withdrawn", postId: second, address },
    ]);
    const ended = await behind;
    expect([ended.code, failureOf(ended).reason]).toEqual([1, "withdrawn"]);
    expect((await withdraw(second)).stdout).toBe(
      "Withdrawn: the post to agent:bob-agent was delivered to no one.\n",
    );

    const asked = await withdraw(first, "--json");
    expect([asked.code, lastJson(asked)]).toEqual([
      0,
      { kind: "asked", postId: first, address, said: true, refusable: true },
    ]);
    const { health } = await json("status", "--state", ada);
    expect(health).toMatchObject({
      pendingPosts: 1,
      withdrawingPosts: 1,
      pending: [{ postId: first, address, withdrawing: true, recovering: false, unsigned: ["bob-agent"] }],
    });
    expect((await withdraw(first)).stdout).toBe(
      "The members of agent:bob-agent are asked to let it go. " +
        "The inbox says when it is withdrawn; if it was too late, it stands in `history`.\n",
    );
    await sleep(500);
    daemons.push(await startDaemon(bob));
    const gone = await out;
    expect([gone.code, failureOf(gone).reason]).toEqual([1, "withdrawn"]);

    const { postId: third } = (await json("send", address, "stays", "--state", ada)) as { postId: string };
    const late = await withdraw(third, "--json");
    expect([late.code, late.stdout, failureOf(late)]).toEqual([
      1,
      "",
      {
        reason: "already-certified",
        message: "the post is certified: its members have it",
        next: `Look at it: \`social-harness history agent:bob-agent --state ${ada}\`.`,
      },
    ]);
    const { items } = (await json("inbox", "--state", ada)) as { items: ReadonlyArray<{ item: object }> };
    expect(items.map(({ item }) => item)).toMatchObject(
      [second, first].map((postId) => ({ kind: "operationFailed", postId, error: { reason: "withdrawn" } })),
    );
    const { items: delivered } = (await json("inbox", "--state", bob)) as { items: ReadonlyArray<object> };
    expect(delivered).toMatchObject([{ item: { message: { postId: third } } }]);
  },
);

verifies(["RUN-02", "RUN-48"], "a post that is not this endpoint's is unknown", async () => {
  const postId = `pst_${"A".repeat(43)}`;
  expect(await refusal("withdraw", postId, "--state", ada)).toEqual([1, "unknown-post"]);
  expect(failureOf(await withdraw(postId, "--json"))).toEqual({
    reason: "unknown-post",
    message: "this endpoint never sent a post of that id",
    next: "Copy the id from what `send` printed.",
  });
});
