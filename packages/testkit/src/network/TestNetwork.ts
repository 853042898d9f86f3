// The network of one test: services and agents in a temporary folder, all of it closed and removed when the test ends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type AgentProcess, startAgentProcess } from "./AgentProcess.ts";
import * as Copies from "./Copies.ts";
import * as DiskOracle from "./DiskOracle.ts";
import { type Network, type NetworkOptions, startNetwork } from "./Network.ts";
import { type NetworkAgent, type NetworkAgentOptions, openAgent, storeOf } from "./NetworkAgent.ts";
import { until } from "./Until.ts";

type More = Omit<NetworkAgentOptions, "network" | "folder" | "name">;

export interface TestNetwork extends Network {
  readonly open: (name: string, more?: More) => Promise<NetworkAgent>;
  readonly openAll: <const Names extends ReadonlyArray<string>>(
    names: Names,
    more?: More,
  ) => Promise<{ readonly [I in keyof Names]: NetworkAgent }>;
  /** In a process of its own, which ends with the test. */
  readonly spawn: (name: string, more?: Omit<More, "clock">) => Promise<AgentProcess>;
  readonly storeOf: (name: string) => string;
  /** Keeps the store of an agent that is not running under another name; returns its path. */
  readonly keepStore: (name: string, as: string) => string;
  /** Puts a kept store back in the place of the store of an agent that is not running; null for none. */
  readonly replaceStore: (name: string, by: string | null) => void;
  /**
   * Lets the agents of this process come to rest, closes them and judges their disks, `former` with them: disks that some of
   * them had before an older one was put back.
   */
  readonly judge: (
    names: ReadonlyArray<string>,
    former?: ReadonlyArray<string>,
  ) => Promise<DiskOracle.DiskVerdict>;
}

const restMs = 15_000;

/** Nothing of this agent is under way, and its chains end where those of the agents before it end. */
const isQuiet = ({ db }: NetworkAgent, heads: Map<unknown, unknown>): boolean => {
  const open = db.get(
    "SELECT 1 FROM intent WHERE outcome IS NULL UNION ALL SELECT 1 FROM pending UNION ALL SELECT 1 FROM outbox",
  );
  if (open !== undefined) return false;
  return db
    .all("SELECT conversation_id AS id, head_record_hash AS head FROM conversation")
    .every(({ id, head }) => {
      if (heads.has(id)) return heads.get(id) === head;
      heads.set(id, head);
      return true;
    });
};

/** A folder that goes with the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

export const testNetwork = async (options: Omit<NetworkOptions, "folder"> = {}): Promise<TestNetwork> => {
  const folder = temporaryFolder();
  const network = await startNetwork({ ...options, folder });
  const opened: Array<NetworkAgent> = [];
  const closeAgents = async (): Promise<void> => {
    await Promise.all(opened.splice(0).map((agent) => agent.close()));
  };
  onTestFinished(async () => {
    await closeAgents();
    await network.close();
  });
  const open = async (name: string, more: More = {}): Promise<NetworkAgent> => {
    const agent = await openAgent({ ...more, network, folder, name });
    opened.push(agent);
    return agent;
  };
  return {
    ...network,
    open,
    openAll: async (names, more) => {
      const agents = await Promise.all(names.map((name) => open(name, more)));
      return agents as { readonly [I in keyof typeof names]: NetworkAgent };
    },
    spawn: async (name, more = {}) => {
      const { registryUrl, registryKey, routerUrl, routerKey } = network;
      const reached = { registryUrl, registryKey, routerUrl, routerKey };
      const child = await startAgentProcess({ ...more, network: reached, folder, name });
      onTestFinished(() => child.kill());
      return child;
    },
    storeOf: (name) => storeOf(folder, name),
    keepStore: (name, as) => {
      const kept = storeOf(folder, `${name}-${as}`);
      Copies.copy(storeOf(folder, name), kept);
      return kept;
    },
    replaceStore: (name, by) => {
      if (by === null) Copies.remove(storeOf(folder, name));
      else Copies.copy(storeOf(folder, `${name}-${by}`), storeOf(folder, name));
    },
    judge: async (names, former = []) => {
      const heads = new Map<unknown, unknown>();
      const isAtRest = (): boolean => {
        heads.clear();
        return opened.every((agent) => agent.isClosed() || isQuiet(agent, heads));
      };
      // What never comes to rest is the oracle's to explain.
      await until("every agent is at rest", isAtRest, restMs).catch(() => undefined);
      await closeAgents();
      return DiskOracle.judge(
        names.map((name) => storeOf(folder, name)),
        { quiet: true, former },
      );
    },
  };
};
