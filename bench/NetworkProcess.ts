// A Registry and a Router in a process of their own, so that what they spend is not counted as the endpoints'. Run as a
// program it serves them until its parent is gone; imported it starts that program and asks it what it has spent and done.

import { fork } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Reached, startNetwork } from "@social-harness/testkit/network/Network";

export interface Spent {
  /** Processor milliseconds since the process began. */
  readonly cpuMs: number;
  /** Envelopes that the Router took for good since it began. */
  readonly accepted: number;
}

export interface NetworkProcess {
  readonly reached: Reached;
  readonly spent: () => Promise<Spent>;
  readonly close: () => Promise<void>;
}

type Told =
  { readonly kind: "reached"; readonly reached: Reached } | { readonly kind: "spent"; readonly spent: Spent };

/** The bench posts faster than one honest member ever would; what it measures is not the budget. */
const routerLimits = {
  sendsPerSecond: 1_000_000,
  sendBurst: 1_000_000,
  sendBytesPerSecond: 2 ** 40,
  sendBytesBurst: 2 ** 40,
};

const acceptedOf = async (routerUrl: string): Promise<number> => {
  const response = await fetch(`${routerUrl.replace(/^ws/, "http")}/metrics`);
  const found = /^social_harness_router_accepted_total (\d+)$/m.exec(await response.text());
  return Number(found?.[1]);
};

/** `folder` exists; both logs are made in it. */
export const start = async (folder: string): Promise<NetworkProcess> => {
  const child = fork(fileURLToPath(new URL("NetworkProcess.ts", import.meta.url)), [folder]);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const told = <Kind extends Told["kind"]>(kind: Kind): Promise<Extract<Told, { kind: Kind }>> => {
    const { promise, resolve, reject } = Promise.withResolvers<Extract<Told, { kind: Kind }>>();
    const take = (message: Told): void => {
      if (message.kind !== kind) return;
      child.off("message", take);
      resolve(message as Extract<Told, { kind: Kind }>);
    };
    child.on("message", take);
    void ended.then(() => reject(new Error("the network's process ended")));
    return promise;
  };
  const { reached } = await told("reached");
  return {
    reached,
    spent: async () => {
      const answer = told("spent");
      child.send("spent");
      return (await answer).spent;
    },
    close: async () => {
      child.disconnect();
      await ended;
    },
  };
};

const serve = async (folder: string, tell: (message: Told) => void): Promise<void> => {
  const network = await startNetwork({ folder, routerLimits });
  const { registryUrl, registryKey, routerUrl, routerKey } = network;
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    void acceptedOf(routerUrl).then((accepted) =>
      tell({ kind: "spent", spent: { cpuMs: (user + system) / 1_000, accepted } }),
    );
  });
  process.once("disconnect", () => void network.close());
  tell({ kind: "reached", reached: { registryUrl, registryKey, routerUrl, routerKey } });
};

const [, program, folder] = process.argv;
if (program === fileURLToPath(import.meta.url) && folder !== undefined) {
  await serve(folder, (message) => void process.send?.(message));
}
