// One store with real history, made once for all the tests of a file: two conversations of certified records, the last of
// them in a second round, and one more with a proposal that is still open. Every test takes a copy, lets somebody change it,
// and looks what the program makes of it.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll } from "vitest";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import { startNetwork } from "@social-harness/testkit/network/Network";
import { openAgent, storeOf } from "@social-harness/testkit/network/NetworkAgent";
import { until } from "@social-harness/testkit/network/Until";
import { createContinuations } from "../../src/operations/Continuations.ts";
import { readConversation, type Snapshot } from "../../src/operations/History.ts";
import { OperationError } from "../../src/operations/OperationError.ts";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { alter, temporaryPath } from "./TemporaryStore.ts";

export const direct = "agent:bob";
export const group = "group:ann,bob,cyd";
export const addresses = [direct, group] as const;

export interface WrittenStore {
  readonly trust: Trust;
  /** What history reads return before anything was changed. */
  readonly histories: ReadonlyMap<string, ReadonlyArray<HistoryRecord>>;
  /** A copy of the store, closed; its start-up check has not run yet. */
  readonly copy: () => string;
}

const down = (): Promise<never> =>
  Promise.reject(new RegistryError("unavailable", "there is no Registry here"));
const noRegistry: RegistryClient = {
  register: down,
  lookupByName: down,
  lookupById: down,
  list: down,
  close: () => undefined,
};

const random = (byteCount: number): Buffer => Buffer.alloc(byteCount, 5);

/** Everything that a read returns, over all its pages, or the reason of its failure. */
export const readAll = async (
  db: Database.Database,
  trust: Trust,
  address: string,
): Promise<ReadonlyArray<HistoryRecord> | string> => {
  const continuations = createContinuations<Snapshot>(random, () => 0);
  const reading = { db, self: "ann" as AgentName, trust, registry: noRegistry, continuations };
  try {
    let page = await readConversation(reading, { address });
    const records = [...page.records];
    while (page.continuation !== null) {
      page = await readConversation(reading, { continuation: page.continuation });
      records.push(...page.records);
    }
    return records;
  } catch (error) {
    if (error instanceof OperationError) return error.reason;
    throw error;
  }
};

/** How start-up takes a store: the refusal, or null when it goes on. */
export const refusalOf = async (path: string, trust: Trust): Promise<StoreError | null> => {
  let db: Database.Database | null = null;
  try {
    db = Database.open(path);
    await check(db, trust);
    return null;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  } finally {
    db?.close();
  }
};

/** Every row of every table, so that a test can see whether any has changed. */
export const dumpOf = (path: string): string => {
  let dump = "";
  alter(path, (sqlite) => {
    const tables = sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    dump = tables
      .map(({ name }) => JSON.stringify(sqlite.prepare(`SELECT * FROM "${String(name)}"`).all()))
      .join("\n");
  });
  return dump;
};

/** A copy changed by `change`. */
export const altered = (store: WrittenStore, change: (sqlite: DatabaseSync) => void): string => {
  const path = store.copy();
  alter(path, change);
  return path;
};

const write = async (folder: string): Promise<Omit<WrittenStore, "copy"> & { readonly path: string }> => {
  const network = await startNetwork({ folder });
  const agent = (name: string) => openAgent({ network, folder, name, sendWaitMs: 10_000 });
  const [ann, bob, cyd] = await Promise.all([agent("ann"), agent("bob"), agent("cyd")]);
  for (const text of ["one", "two", "three"]) {
    if (text === "three") {
      await network.router.stop();
      network.router.replaceLog(null);
      await network.router.start();
    }
    await ann.send(direct, `direct ${text}`);
    await bob.send("agent:ann", `reply ${text}`);
    await cyd.send(group, `group ${text}`);
  }
  await ann.untilItems(6);
  const histories = new Map<string, ReadonlyArray<HistoryRecord>>();
  for (const address of addresses) histories.set(address, await ann.history(address));
  await cyd.close();
  void ann.send("agent:cyd", "cyd is away");
  await until("a proposal is open", () => ann.db.get("SELECT 1 FROM candidate") !== undefined);
  await ann.close();
  await bob.close();
  await network.close();
  const path = storeOf(folder, "ann");
  // As a kill would have left it: an orderly end moves the checkpoint, and nothing would be verified again.
  alter(path, (sqlite) => sqlite.exec("DELETE FROM setting WHERE name = 'verified_sequence'"));
  return { trust: network.trust, histories, path };
};

/** The store of one test file. Call at its top. */
export const useWrittenStore = (): WrittenStore => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-"));
  let written: Awaited<ReturnType<typeof write>>;
  beforeAll(async () => {
    written = await write(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    get trust() {
      return written.trust;
    },
    get histories() {
      return written.histories;
    },
    copy: () => {
      const path = temporaryPath();
      copyFileSync(written.path, path);
      return path;
    },
  };
};
