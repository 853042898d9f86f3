// Writers without pause on one endpoint whose histories are being read at the same time, by readers who come back late or
// never: what its write-ahead log grows to, and whether its store is sound after each while. All in one process.

import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import * as FullCheck from "@social-harness/endpoint/store/FullCheck";
import { createContinuations } from "@social-harness/endpoint/operations/Continuations";
import { readConversation, type Snapshot } from "@social-harness/endpoint/operations/History";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import { OperationError } from "@social-harness/endpoint/operations/OperationError";
import type { Network } from "../network/Network.ts";
import { type NetworkAgent, openAgent, storeOf } from "../network/NetworkAgent.ts";

export interface LoadOptions {
  readonly network: Network;
  readonly random: (byteCount: number) => Uint8Array;
  readonly seconds: number;
  /** Between two checks of the whole store. */
  readonly checkSeconds: number;
  readonly writers: number;
  readonly postBytes: number;
  readonly say: (line: string) => void;
}

export interface LoadResult {
  readonly posts: number;
  readonly checks: number;
  readonly openContinuations: number;
  /** The largest that the endpoint's and the Router's write-ahead logs were. */
  readonly walBytesMax: number;
  readonly routerWalBytesMax: number;
  /** How often the endpoint's was folded whole and begun again. */
  readonly walRestarts: number;
  /** Sentences; none when all was well. */
  readonly problems: ReadonlyArray<string>;
}

const hub = "hub";
const peers = ["ann", "bob"];

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What SQLite itself says of the file, from outside. */
export const integrityOf = (path: string): string => {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return String(database.prepare("PRAGMA integrity_check").get()?.["integrity_check"]);
  } finally {
    database.close();
  }
};

/** The number in the log's header that grows each time it was folded whole and begun again. */
const restartsOf = (path: string): number => {
  if (sizeOf(path) < 16) return 0;
  const descriptor = openSync(path, "r");
  try {
    const number = Buffer.alloc(4);
    readSync(descriptor, number, 0, 4, 12);
    return number.readUInt32BE();
  } finally {
    closeSync(descriptor);
  }
};

/** Readers that go away in the middle of a history. */
const staleReads = 50;

export const run = async (options: LoadOptions): Promise<LoadResult> => {
  const { network, random, say } = options;
  const { folder, trust } = network;
  const open = (name: string): Promise<NetworkAgent> => openAgent({ network, folder, name });
  const agents = await Promise.all([hub, ...peers].map(open));
  const [middle, ...others] = agents as [NetworkAgent, ...Array<NetworkAgent>];
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
  const continuations = createContinuations<Snapshot>(random, Date.now);
  const reading = { db: middle.db, self: middle.name, trust, registry, continuations };
  const wal = `${storeOf(folder, hub)}-wal`;
  const routerWal = join(folder, "router.sqlite-wal");
  const problems: Array<string> = [];
  let walBytesMax = 0;
  let routerWalBytesMax = 0;
  let posts = 0;
  let checks = 0;
  let openContinuations = 0;
  const look = setInterval(() => {
    walBytesMax = Math.max(walBytesMax, sizeOf(wal));
    routerWalBytesMax = Math.max(routerWalBytesMax, sizeOf(routerWal));
  }, 20);
  const deadline = performance.now() + options.seconds * 1_000;
  const isOver = (): boolean => performance.now() > deadline;

  const writer = async (number: number): Promise<void> => {
    const from = others[number % others.length] as NetworkAgent;
    for (let post = 0; !isOver(); post++) {
      const text = `${number} ${post} ${"x".repeat(options.postBytes)}`;
      // To the hub and from it in turn: it proposes, votes and admits.
      const sent = post % 2 === 0 ? from.send(`agent:${hub}`, text) : middle.send(`agent:${from.name}`, text);
      await sent;
      posts++;
    }
  };
  /** Of a conversation that has not begun there is no history yet. */
  const passingOver = (error: unknown): null => {
    if (!(error instanceof OperationError && error.reason === "history-gap")) problems.push(String(error));
    return null;
  };
  const reader = async (): Promise<void> => {
    while (!isOver()) {
      for (const { name } of others) {
        if (openContinuations === staleReads) return;
        const page = await readConversation(reading, { address: `agent:${name}` }).catch(passingOver);
        if (page !== null && page.continuation !== null) openContinuations++;
      }
      await sleep(100);
    }
  };
  const checker = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(Math.min(options.checkSeconds * 1_000, Math.max(deadline - performance.now(), 0)));
      await check();
    }
  };
  const check = async (): Promise<void> => {
    const integrity = integrityOf(storeOf(folder, hub));
    if (integrity !== "ok") problems.push(`integrity_check says ${integrity}`);
    await FullCheck.checkEverything(storeOf(folder, hub), trust).catch((error: unknown) =>
      problems.push(String(error)),
    );
    checks++;
    say(JSON.stringify({ posts, checks, walBytesMax, routerWalBytesMax, problems: problems.length }));
  };

  await Promise.all([
    ...Array.from({ length: options.writers }, (_, number) => writer(number)),
    reader(),
    checker(),
  ]);
  clearInterval(look);
  const walRestarts = restartsOf(wal);
  registry.close();
  for (const agent of agents) await agent.close();
  await check();
  return { posts, checks, openContinuations, walBytesMax, routerWalBytesMax, walRestarts, problems };
};
