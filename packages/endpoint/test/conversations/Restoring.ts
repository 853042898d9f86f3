// Agents of this process whose stores are put back: the copies that are kept, and what shows that they have been missed.

import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import type { TestNetwork } from "@social-harness/testkit/network/TestNetwork";
import * as LostMemory from "../../src/conversations/LostMemory.ts";

export const hasNoticed = ({ db }: NetworkAgent): boolean => LostMemory.notedAt(db) !== null;
export const hasRecovered = (agent: NetworkAgent): boolean =>
  hasNoticed(agent) && LostMemory.countRecovering(agent.db) === 0;

export const votesOf = ({ db }: NetworkAgent): number =>
  Number(db.get("SELECT count(*) AS n FROM own_vote")?.["n"]);

export const roundOf = ({ db }: NetworkAgent, address: string): unknown =>
  db.get(
    "SELECT json_extract(state, '$.anchor.round') AS round FROM conversation WHERE address = ?",
    address,
  )?.["round"];

/** Closes an agent and keeps its store as it is now. */
export const keep = async (network: TestNetwork, agent: NetworkAgent, as: string): Promise<string> => {
  await agent.close();
  return network.keepStore(agent.name, as);
};

/** Closes an agent, keeps its store for the judge, and opens an older copy of it, or none, in its place. */
export const putBack = async (
  network: TestNetwork,
  agent: NetworkAgent,
  by: string | null,
): Promise<readonly [NetworkAgent, string]> => {
  const newest = await keep(network, agent, "newest");
  network.replaceStore(agent.name, by);
  return [await network.open(agent.name), newest];
};

/** The Router's log is lost, and a new one begins. */
export const freshRouter = async ({ router }: TestNetwork): Promise<void> => {
  await router.stop();
  router.replaceLog(null);
  await router.start();
};
