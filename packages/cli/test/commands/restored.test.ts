// A state folder that lost its store and kept its keys, as its owner sees it: the agent is found again by its registration,
// its conversations by their members, and `status` says what is going on.

import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import * as Copies from "@social-harness/testkit/network/Copies";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, run, runHere, type Served } from "../Binary.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
const store = join(ada, "endpoint.sqlite");
const daemons = new Map<string, Served>();

const up = async (state: string): Promise<void> => void daemons.set(state, await startDaemon(state));
const down = async (state: string): Promise<void> => {
  expect(await daemons.get(state)?.stop()).toBe(0);
  daemons.delete(state);
};

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
});

afterAll(async () => {
  for (const daemon of daemons.values()) expect(await daemon.stop()).toBe(0);
});

const restoredOf = async () =>
  ((await json("status", "--state", ada)) as { health: { restored: { conversations: number } | null } })
    .health.restored;

verifies(
  ["RUN-71", "RUN-72"],
  "the agent of a lost store is joined again, and status says that it recovers and when it has",
  async () => {
    await up(ada);
    await up(bob);
    const said = await json("send", "agent:bob-agent", "before", "--state", ada);
    expect(said["status"]).toBe("certified");
    const card = (await json("status", "--state", ada))["agentCard"];
    await down(ada);
    Copies.remove(store);
    await joined(ada, "ada-agent");
    await up(ada);
    await expect.poll(restoredOf).toMatchObject({ conversations: 0 });
    expect((await json("status", "--state", ada))["agentCard"]).toEqual(card);

    await down(bob);
    const waiting = run(["send", "agent:bob-agent", "again", "--state", ada, "--json"]);
    await expect
      .poll(restoredOf, { timeout: 30_000 })
      .toMatchObject({ conversations: 1, addresses: ["agent:bob-agent"] });
    await up(bob);
    await expect.poll(restoredOf, { timeout: 30_000 }).toMatchObject({ conversations: 0 });
    expect(lastJson(await waiting)["status"]).toBe("certified");
    const plain = await runHere(["status", "--state", ada]);
    expect(plain.stdout).toMatch(
      /^Restored all known conversations recovered, found .*: .*comes back with the first word/m,
    );
    const again = await json("send", "agent:ada-agent", "welcome back", "--state", bob);
    expect(again["status"]).toBe("certified");
    // Certified at its author: the other member's commit follows.
    const records = async () => (await json("history", "agent:bob-agent", "--state", ada))["records"];
    await expect.poll(records, { timeout: 30_000 }).toHaveLength(3);
  },
  60_000,
);
