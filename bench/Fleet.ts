// Many agents in this process over one network in another, for questions about what endpoints do and cost once MCP is left
// aside. Everything that is opened here is closed and deleted when the work ends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NetworkAgent, openAgent } from "@social-harness/testkit/network/NetworkAgent";
import * as NetworkProcess from "./NetworkProcess.ts";

export interface Fleet {
  readonly folder: string;
  readonly agents: ReadonlyArray<NetworkAgent>;
  readonly network: NetworkProcess.NetworkProcess;
}

/** Runs `work` in a temporary folder, on the disk where stores and logs of a bench lie. */
export const inFolder = async <A>(work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Runs `work` with `count` registered agents. */
export const withFleet = <A>(count: number, work: (fleet: Fleet) => Promise<A>): Promise<A> =>
  inFolder(async (folder) => {
    const network = await NetworkProcess.start(folder);
    const agents: Array<NetworkAgent> = [];
    try {
      for (let i = 0; i < count; i++) {
        agents.push(await openAgent({ network: network.reached, folder, name: `agent-${i + 1}` }));
      }
      return await work({ folder, agents, network });
    } finally {
      for (const agent of agents) await agent.close();
      await network.close();
    }
  });
