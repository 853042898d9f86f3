// The check of a whole store from outside: what it finds that start-up has stopped looking for, and that it leaves no trace.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import type { Evidence } from "@social-harness/protocol/history/Evidence";
import * as Chains from "@social-harness/testkit/Chains";
import * as StoredChains from "@social-harness/testkit/StoredChain";
import type { StoredChain } from "@social-harness/testkit/StoredChain";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { checkEverything } from "../../src/store/FullCheck.ts";
import * as Settings from "../../src/store/Settings.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { temporaryPath, temporaryStore } from "./TemporaryStore.ts";
import { altered, dumpOf, refusalOf, useWrittenStore } from "./WrittenStore.ts";

const store = useWrittenStore();

const expected = () =>
  [...store.histories]
    .map(([address, records]) => ({
      address,
      records: records.length,
      headRecordHash: records.at(-1)?.recordHash,
    }))
    .sort((left, right) => (left.address < right.address ? -1 : 1));

const refusal = async (path: string): Promise<string> => {
  try {
    await checkEverything(path, store.trust);
    return "accepted";
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
};

/** Runs a change through the program's own hands, as if it had always stood there. */
const rewritten = (change: (db: Database.Database) => void): string => {
  const path = store.copy();
  const db = Database.open(path);
  db.transaction(() => change(db));
  db.close();
  return path;
};

/** One signature of a record exchanged for another's, with a digest that fits, below the checkpoint. */
const forged = (recordHash: string): string =>
  rewritten((db) => {
    const row = db.get("SELECT evidence FROM record WHERE record_hash = ?", recordHash);
    const evidence = JSON.parse(String(row?.["evidence"])) as Evidence;
    const [first, second, ...rest] = evidence.durabilityVotes;
    if (first === undefined || second === undefined) throw new Error("a record without evidence");
    const durabilityVotes = [{ ...first, signature: second.signature }, second, ...rest];
    const text = CanonicalJson.encode({ ...evidence, durabilityVotes } as CanonicalJson.Json);
    db.run(
      "UPDATE record SET evidence = ?, evidence_digest = ? WHERE record_hash = ?",
      text,
      Base64Url.encode(hashOfText("evidence", text)),
      recordHash,
    );
    const last = db.get("SELECT max(sequence) AS last FROM record")?.["last"];
    Settings.put(db, "verified_sequence", Number(last));
  });

verifies("HIS-117", "a whole store is what it says, and nothing of it or beside it is written", async () => {
  const path = store.copy();
  const [bytes, dump] = [readFileSync(path), dumpOf(path)];
  expect(await checkEverything(path, store.trust)).toEqual(expected());
  expect(readFileSync(path).equals(bytes)).toBe(true);
  expect(dumpOf(path)).toBe(dump);
  expect(readdirSync(dirname(path))).toEqual(["endpoint.sqlite"]);
});

verifies(
  ["HIS-117", "HIS-64", "HIS-65"],
  "a signature that start-up verified once and then was exchanged is found, in any round",
  async () => {
    for (const [address, records] of store.histories) {
      for (const { recordHash, recordCore } of records) {
        const path = forged(recordHash);
        expect(await refusalOf(path, store.trust), address).toBeNull();
        const { height } = recordCore.action;
        expect(await refusal(path), address).toContain(
          `does not verify at height ${height}: a signature does not verify`,
        );
      }
    }
  },
);

verifies("HIS-117", "a snapshot is of one moment until it is let go", () => {
  const path = store.copy();
  const daemon = temporaryStore(path);
  const snapshot = Database.openSnapshot(path);
  const isThere = (): boolean =>
    snapshot.get("SELECT 1 FROM setting WHERE name = 'verified_sequence'") !== undefined;
  daemon.transaction(() => Settings.put(daemon, "verified_sequence", 1));
  expect(isThere()).toBe(false);
  snapshot.release();
  expect(isThere()).toBe(true);
  snapshot.close();
});

/** A daemon's store with a part of a chain, whose rest is certified while somebody checks it. */
const growing = (): {
  readonly path: string;
  readonly daemon: Database.Database;
  readonly chain: StoredChain;
} => {
  const path = temporaryPath();
  const daemon = temporaryStore(path);
  const posts = Array.from({ length: 400 }, (_, height) => ({
    author: height % 2 === 0 ? "ann" : "bob",
    text: `post ${height}`,
  }));
  const chain = StoredChains.begin(daemon, Chains.chain(["ann", "bob"], posts));
  chain.append(200);
  return { path, daemon, chain };
};

verifies(
  "RUN-334",
  "a full check keeps the log of a daemon from being folded no longer than it reads a page",
  async () => {
    const { path, daemon, chain } = growing();
    const snapshot = Database.openSnapshot(path);
    let heightAtRelease = 0;
    let releases = 0;
    const release = (): void => {
      snapshot.release();
      releases++;
      heightAtRelease = chain.height();
      chain.append(10);
      expect(daemon.get("PRAGMA wal_checkpoint(TRUNCATE)")).toMatchObject({ busy: 0, log: 0 });
    };
    const checked = await check(snapshot, Chains.trust, { scope: "everything", release });
    snapshot.close();
    expect(releases).toBeGreaterThan(checked.records / 64);
    expect(checked).toEqual({ records: heightAtRelease, verified: heightAtRelease });
    expect(heightAtRelease).toBeGreaterThan(200);
  },
);

verifies(
  ["HIS-117", "RUN-334"],
  "a daemon's store is checked up to where it has come, while that goes on writing",
  async () => {
    const { path, chain } = growing();
    const over = new AbortController();
    const writing = (async () => {
      for (; !over.signal.aborted; chain.append(1)) await new Promise((resolve) => setImmediate(resolve));
    })();
    const [checked] = await checkEverything(path, Chains.trust).finally(() => over.abort());
    await writing;
    expect(checked?.records).toBeGreaterThanOrEqual(200);
    expect(checked?.headRecordHash).toBe(chain.chain.records[Number(checked?.records) - 1]?.recordHash);
  },
);

verifies("HIS-117", "no write goes through a snapshot", () => {
  const snapshot = Database.openSnapshot(store.copy());
  expect(() => snapshot.run("DELETE FROM record")).toThrow("readonly");
  snapshot.close();
});

verifies(
  ["HIS-117", "RUN-54"],
  "a store that is absent, older, newer or no store is refused as that",
  async () => {
    expect(await refusal(temporaryPath())).toMatch(/^unavailable: /);
    const versioned = (version: number): string =>
      altered(store, (sqlite) => sqlite.exec(`PRAGMA user_version = ${version}`));
    expect(await refusal(versioned(0))).toMatch(/^unknown-schema: .*its tables are others/);
    const empty = temporaryPath();
    writeFileSync(empty, "");
    expect(await refusal(empty)).toMatch(/^older-schema: .*start the daemon once/);
    expect(await refusal(versioned(99))).toMatch(/^newer-schema: /);
    const other = temporaryPath();
    writeFileSync(other, "no store at all, however long one looks at it");
    expect(await refusal(other)).toMatch(/^corrupt: /);
  },
);
