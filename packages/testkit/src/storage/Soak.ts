// Real daemons, a real Registry and Router, and writers without pause, for as long as is asked: once a check every store's
// integrity, what its write-ahead log has grown to, what memory its daemon holds, and the chains of one store after the other;
// at the end the chains of all. Linux alone tells the memory.

import { readFileSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as FullCheck from "@social-harness/endpoint/store/FullCheck";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Endpoint from "../faults/Endpoint.ts";
import * as Services from "../faults/Services.ts";
import * as DiskOracle from "../network/DiskOracle.ts";
import { integrityOf } from "./Load.ts";

export interface SoakOptions {
  readonly folder: string;
  readonly seconds: number;
  /** From the beginning of one check to the next, where they do not take longer. */
  readonly checkSeconds: number;
  readonly endpoints: number;
  readonly writers: number;
  readonly say: (line: string) => void;
}

export interface SoakResult {
  readonly posts: number;
  readonly checks: number;
  /** The largest write-ahead log of any endpoint. */
  readonly walBytesMax: number;
  /** The most that any daemon held, and the most that the network's process held; one number a check. */
  readonly daemonMegabytes: ReadonlyArray<number>;
  readonly networkMegabytes: ReadonlyArray<number>;
  /** Sentences; none when all was well. */
  readonly problems: ReadonlyArray<string>;
}

const megabyte = 1_048_576;
const walBytesLimit = 40 * megabyte;
/** Memory is flat when the last quarter's checks hold no more than this beyond those of the quarter after the warm-up. */
const growthMegabytesMax = 40;
/** Fewer checks than this say nothing of growth. */
const judgedChecksMin = 12;
const stopMsMax = 60_000;
const pauseMs = 20;

/** What the process holds in memory now, in whole megabytes; 0 where the system does not tell. */
const memoryOf = (pid: number): number => {
  if (process.platform !== "linux") return 0;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 1_024);
};

const middleOf = (numbers: ReadonlyArray<number>): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

/** What a row of measurements grew by between its second quarter and its last; null where it is too short to say. */
export const growthOf = (measured: ReadonlyArray<number>): number | null => {
  if (measured.length < judgedChecksMin) return null;
  const quarter = Math.floor(measured.length / 4);
  return middleOf(measured.slice(-quarter)) - middleOf(measured.slice(quarter, 2 * quarter));
};

export const run = async (options: SoakOptions): Promise<SoakResult> => {
  const { folder, say } = options;
  const problems: Array<string> = [];
  const onUnexpectedEnd = (how: string): void => void problems.push(how);
  const network = await Services.start({ services: "together", folder, onUnexpectedEnd });
  const trust = { verifier: Ed25519.verifier, registryKey: network.description.registryKey };
  const settle = (_: unknown, number: number): Promise<Endpoint.Endpoint> =>
    Endpoint.settle({
      name: `agent-${number}`,
      folder,
      network: network.description,
      prepare: null,
      onUnexpectedEnd,
    });
  const agents = await Promise.all(Array.from({ length: options.endpoints }, settle));
  const residents = [...network.residents, ...agents.map(({ resident }) => resident)];
  const deadline = performance.now() + options.seconds * 1_000;
  const isOver = (): boolean => performance.now() > deadline || problems.length > 0;
  const databases = agents.map(({ database }) => database);
  const daemonMegabytes: Array<number> = [];
  const networkMegabytes: Array<number> = [];
  let posts = 0;
  let checks = 0;
  let walBytesMax = 0;

  /** To the others in turn, in a conversation of two or of three. */
  const writer = async (_: unknown, number: number): Promise<void> => {
    const from = agents[number % agents.length] as Endpoint.Endpoint;
    const other = (step: number): string =>
      String(agents[(number + 1 + (step % (agents.length - 1))) % agents.length]?.name);
    for (let post = 0; !isOver(); post++) {
      const to =
        post % 5 === 0 ? `group:${[other(post), other(post + 1)].sort().join(",")}` : `agent:${other(post)}`;
      const text = `${number} ${post}`;
      await from.client.call("send_message", { input: { to, text }, idempotencyKey: text });
      posts++;
    }
  };
  const consumer = async ({ client }: Endpoint.Endpoint): Promise<void> => {
    while (!isOver()) {
      const { items } = await client.call("read_inbox", {});
      for (const { deliveryToken } of items) await client.call("acknowledge_delivery", { deliveryToken });
      await sleep(pauseMs);
    }
  };
  const checkChains = async ({ name, database }: Endpoint.Endpoint): Promise<void> => {
    await FullCheck.checkEverything(database, trust).catch((error: unknown) =>
      problems.push(`${name}: ${String(error)}`),
    );
  };
  const measureLogs = (): void => {
    for (const database of databases)
      walBytesMax = Math.max(walBytesMax, statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  };
  const check = async (): Promise<void> => {
    for (const { name, database } of agents) {
      const integrity = integrityOf(database);
      if (integrity !== "ok") problems.push(`${name}: integrity_check says ${integrity}`);
      measureLogs();
    }
    await checkChains(agents[checks % agents.length] as Endpoint.Endpoint);
    measureLogs();
    daemonMegabytes.push(Math.max(...agents.map(({ resident }) => memoryOf(resident.pid()))));
    networkMegabytes.push(Math.max(...network.residents.map((resident) => memoryOf(resident.pid()))));
    checks++;
    const [daemon, service] = [daemonMegabytes.at(-1), networkMegabytes.at(-1)];
    say(JSON.stringify({ posts, checks, walBytesMax, daemon, service, problems: problems.length }));
  };
  const checker = async (): Promise<void> => {
    for (let due = performance.now(); !isOver();) {
      due = Math.max(due + options.checkSeconds * 1_000, performance.now());
      await sleep(Math.max(Math.min(due, deadline) - performance.now(), 0));
      await check();
    }
  };
  const failing = (error: unknown): void => void problems.push(String(error));
  await Promise.all(
    [
      ...Array.from({ length: options.writers }, writer),
      ...agents.map((agent) => consumer(agent)),
      checker(),
    ].map((one) => one.catch(failing)),
  );
  for (const agent of agents) await checkChains(agent);
  if (walBytesMax > walBytesLimit) problems.push(`a write-ahead log grew to ${walBytesMax} bytes`);
  for (const [whose, measured] of [
    ["a daemon", daemonMegabytes],
    ["the network", networkMegabytes],
  ] as const) {
    const growth = growthOf(measured);
    if (growth !== null && growth > growthMegabytesMax)
      problems.push(`the memory of ${whose} grew by ${growth} megabytes`);
  }
  const stopped = await Promise.all(residents.toReversed().map((resident) => resident.stop(stopMsMax)));
  if (stopped.includes(false)) problems.push("a process did not stop by itself");
  problems.push(...DiskOracle.judge(databases, { quiet: false }).problems);
  return { posts, checks, walBytesMax, daemonMegabytes, networkMegabytes, problems };
};
