// Daemons whose state folder is replaced by an older copy of itself, under traffic: what they did before is known from their
// newest disk, which is kept and judged together with those that all of them have at the end.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { AgentProcess } from "@social-harness/testkit/network/AgentProcess";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";

const everybody = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus"] as const;
const comesTrue = { timeout: 60_000, interval: 50 };

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
    const agent = await network.spawn(name);
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

for (const [count, ending] of [
  [2, "killed"],
  [4, "killed"],
  [7, "stopped"],
] as const) {
  const members = everybody.slice(0, count);
  verifies(
    ["HIS-163", "HIS-165", "RUN-70"],
    `a daemon of a conversation of ${count} is ${ending} under traffic and started on an old copy of its folder`,
    async () => {
      const place = await town(members);
      const { network, agents, post } = place;
      for (const name of members) expect(await post(name)).toBe("certified");

      await agents.get("ann")?.close();
      network.keepStore("ann", "early");
      await place.spawn("ann");
      const before = place.traffic(members);
      await sleep(1_500);
      await (ending === "killed" ? agents.get("ann")?.kill() : agents.get("ann")?.close());
      const newest = network.keepStore("ann", "newest");
      await before.stop();
      network.replaceStore("ann", "early");

      const meanwhile = place.traffic(members.slice(1));
      const old = await place.spawn("ann");
      await expect.poll(async () => (await old.restored())?.at, comesTrue).toBeDefined();
      // Fewer than four do not go on without it; the others see it come back when it speaks.
      if (count > 3) expect(await post("ann")).toBe("certified");
      await expect.poll(async () => (await old.restored())?.conversations, comesTrue).toBe(0);
      await meanwhile.stop();
      for (const name of members) expect(await post(name)).toBe("certified");

      const verdict = await judged(place, [newest]);
      expect(verdict.problems).toEqual([]);
      expect(verdict.records).toBeGreaterThan(count * (2 * count + 1));
    },
    60_000,
  );
}
