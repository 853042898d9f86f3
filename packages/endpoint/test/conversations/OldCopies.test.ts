// Daemons whose state folder is replaced by an older copy of itself, under traffic: what they did before is known from their
// newest disk, which is kept and judged together with those that all of them have at the end.

import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { AgentProcess } from "@social-harness/testkit/network/AgentProcess";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";

const everybody = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus"] as const;
const comesTrue = { timeout: 90_000, interval: 50 };

const addressFor = (self: string, members: ReadonlyArray<string>): string =>
  members.length === 2 ? `agent:${members.find((name) => name !== self)}` : `group:${members.join()}`;

/** A conversation in which everybody speaks now and then, and whoever is killed meanwhile does not. */
interface Town {
  readonly network: TestNetwork;
  readonly agents: Map<string, AgentProcess>;
  readonly spawn: (name: string) => Promise<AgentProcess>;
  /** Posts and waits for the certificate, or for the end of the process. */
  readonly post: (name: string) => Promise<string>;
  /** Everybody named posts again and again until it is stopped; resolves when the last post has ended. */
  readonly traffic: (names: ReadonlyArray<string>) => { readonly stop: () => Promise<void> };
}

const town = async (members: ReadonlyArray<string>): Promise<Town> => {
  const network = await testNetwork();
  const agents = new Map<string, AgentProcess>();
  let posts = 0;
  const spawn = async (name: string): Promise<AgentProcess> => {
    const agent = await network.spawn(name, { sendWaitMs: 90_000 });
    agents.set(name, agent);
    return agent;
  };
  const post = async (name: string): Promise<string> => {
    const agent = agents.get(name) as AgentProcess;
    return agent.send(addressFor(name, members), `${name} ${++posts}`).then(
      ({ status }) => status,
      (error: unknown) => String(error),
    );
  };
  await Promise.all(members.map(spawn));
  return {
    network,
    agents,
    spawn,
    post,
    traffic: (names) => {
      const stopping = new AbortController();
      const speaking = names.map(async (name) => {
        while (!stopping.signal.aborted) {
          await Promise.race([post(name), sleep(3_000)]);
          await sleep(150);
        }
      });
      return {
        stop: async () => {
          stopping.abort();
          await Promise.all(speaking);
        },
      };
    },
  };
};

/** Whether an agent has voted for something that is not certified. */
const hasOpenVote = (path: string): boolean => {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    const open = sqlite.prepare(
      "SELECT 1 FROM own_vote JOIN conversation USING (conversation_id) WHERE height > head_height",
    );
    return open.get() !== undefined;
  } finally {
    sqlite.close();
  }
};

/** Lets all come to rest, ends the processes and judges all disks that there ever were. */
const judged = async (
  { network, agents }: Town,
  former: ReadonlyArray<string>,
): Promise<DiskOracle.DiskVerdict> => {
  const paths = [...agents.keys()].map(network.storeOf);
  const judge = (): DiskOracle.DiskVerdict => DiskOracle.judge(paths, { quiet: true, former });
  await expect.poll(() => judge().problems, comesTrue).toEqual([]);
  await Promise.all([...agents.values()].map((agent) => agent.close()));
  return judge();
};

/** `ann` ends under traffic and comes back as it was before it; returns what all disks say at the end. */
const restore = async (
  members: ReadonlyArray<string>,
  ending: "killed" | "stopped",
): Promise<DiskOracle.DiskVerdict> => {
  const place = await town(members);
  const { network, agents, post } = place;
  const others = members.slice(1);
  for (const name of members) expect(await post(name)).toBe("certified");

  await agents.get("ann")?.close();
  network.keepStore("ann", "early");
  await place.spawn("ann");
  // The height that the copy knows as open is its own, so that another post of it there would be a second vote of its.
  expect(await post("ann")).toBe("certified");
  const before = place.traffic(members);
  await sleep(1_000);
  // The last that it signs is seen by nobody: alone, it votes for what waits for the others' votes.
  await Promise.all(others.map((name) => agents.get(name)?.kill()));
  await before.stop();
  void post("ann");
  await expect.poll(() => hasOpenVote(network.storeOf("ann")), comesTrue).toBe(true);
  await (ending === "killed" ? agents.get("ann")?.kill() : agents.get("ann")?.close());
  const newest = network.keepStore("ann", "newest");
  network.replaceStore("ann", "early");

  const old = await place.spawn("ann");
  await expect.poll(async () => (await old.restored())?.at, comesTrue).toBeDefined();
  const first = post("ann");
  await sleep(300);
  await Promise.all(others.map(place.spawn));
  const meanwhile = place.traffic(others);
  // Fewer than four do not go on without it; the others see it come back when it speaks.
  expect(await first).toBe("certified");
  await expect.poll(async () => (await old.restored())?.conversations, comesTrue).toBe(0);
  await meanwhile.stop();
  for (const name of members) expect(await post(name)).toBe("certified");

  return judged(place, [newest]);
};

const expectWhole = ({ problems, records }: DiskOracle.DiskVerdict, count: number): void => {
  expect(problems).toEqual([]);
  // Everybody spoke at the beginning and at the end, and the restored one before its end and after it.
  expect(records).toBeGreaterThanOrEqual(count * (2 * count + 2));
};

verifies(
  ["HIS-163", "HIS-165", "RUN-70"],
  "a daemon of a conversation of two is killed under traffic and started on an old copy of its folder",
  async () => expectWhole(await restore(everybody.slice(0, 2), "killed"), 2),
  60_000,
);

verifies(
  ["HIS-163", "HIS-165", "RUN-70"],
  "so is one of a conversation of four, and one of seven is stopped",
  async () => {
    // At once: most of the time goes by until the others miss its vote.
    const [four, seven] = await Promise.all([
      restore(everybody.slice(0, 4), "killed"),
      restore(everybody, "stopped"),
    ]);
    expectWhole(four, 4);
    expectWhole(seven, 7);
  },
  150_000,
);
