import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { makeGroupCommit } from "@social-harness/log/GroupCommit";
import type { Entry } from "@social-harness/log/Log";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import * as Limits from "../src/Limits.ts";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf, logSuite, readAll, textOf } from "./suite.ts";
import { temporaryFolder } from "./TemporaryFolder.ts";

const folder = temporaryFolder();
let files = 0;
const newPath = (): string => join(folder, `log-${++files}.sqlite`);

logSuite({
  name: "sqlite",
  open: async () => openSqliteLog(newPath()),
  reopen: async () => openSqliteLog(join(folder, `log-${files}.sqlite`)),
});

const reason = (expected: string) => expect.objectContaining({ name: "LogError", reason: expected });

/** Runs two writers on one file, kills both after `lines` acknowledgments, returns what was acknowledged. */
const killWriters = async (path: string, lines: number): Promise<ReadonlyMap<number, string>> => {
  const acknowledged = new Map<number, string>();
  const script = fileURLToPath(new URL("./KilledWriter.ts", import.meta.url));
  const writers = ["a", "b"].map((writer) => {
    const child = spawn(process.execPath, [script, path, `${writer}${lines}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    createInterface(child.stdout).on("line", (line) => {
      const [position = "", id = ""] = line.split(" ");
      acknowledged.set(Number(position), id);
      if (acknowledged.size >= lines) for (const each of writers) each.child.kill("SIGKILL");
    });
    return { child, ended: Promise.all([exited, once(child.stdout, "close")]) };
  });
  for (const { ended } of writers) await ended;
  return acknowledged;
};

verifies(
  ["RTR-68", "RTR-72"],
  "killing two writers in mid load leaves every acknowledged append, whole, and otherwise only whole ones",
  async () => {
    const path = newPath();
    const acknowledged = new Map<number, string>();
    for (const lines of [40, 333, 900]) {
      for (const [position, id] of await killWriters(path, lines)) acknowledged.set(position, id);
      const log = openSqliteLog(path);
      const entries = await readAll(log, "load");
      const ids = entries.map(({ bytes }) => {
        const [first, , last] = textOf(bytes).split(" ");
        expect(last).toBe(first);
        return first;
      });
      expect(entries.map((entry) => entry.position)).toEqual(entries.map((_, i) => i + 1));
      expect(await log.tail("load")).toBe(entries.length);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [position, id] of acknowledged) expect(ids[position - 1]).toBe(id);
      await log.close();
    }
    expect(acknowledged.size).toBeGreaterThan(1_000);
  },
);

verifies("RTR-68", "a commit is a write-ahead log that is synced in full", async () => {
  const log = openSqliteLog(newPath());
  const pragma = (name: string) => log.database.prepare(`PRAGMA ${name}`).get();
  expect({ ...pragma("journal_mode") }).toEqual({ journal_mode: "wal" });
  // 2 is FULL: the log file reaches the disk before COMMIT returns.
  expect({ ...pragma("synchronous") }).toEqual({ synchronous: 2 });
  await log.close();
});

verifies("RTR-69", "units of one turn share one commit, and none settles before it", async () => {
  const database = new DatabaseSync(newPath());
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER) STRICT");
  const insert = database.prepare("INSERT INTO t VALUES (?)");
  let commits = 0;
  let settled = 0;
  const settledAtCommit: Array<number> = [];
  const group = makeGroupCommit(database, {
    demandPlace: () => {},
    committed: () => {
      commits++;
      settledAtCommit.push(settled);
    },
  });
  const units = Array.from({ length: 100 }, (_, n) =>
    group
      .enqueue(() => insert.run(n))
      .then(() => {
        settled++;
      }),
  );
  await Promise.all(units);
  expect({ commits, settled, settledAtCommit }).toEqual({ commits: 1, settled: 100, settledAtCommit: [0] });
  database.close();
});

verifies("RTR-69", "a unit that throws is undone alone", async () => {
  const log = openSqliteLog(newPath());
  const results = await Promise.allSettled([
    log.append("s", bytesOf("1")),
    log.transact((unit) => {
      unit.append("s", bytesOf("undone"));
      throw new RangeError("mine");
    }),
    log.append("s", bytesOf("2")),
  ]);
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({ reason: { name: "RangeError", message: "mine" } });
  expect((await readAll(log, "s")).map(({ bytes }) => textOf(bytes))).toEqual(["1", "2"]);
  await log.close();
});

verifies(
  "RTR-69",
  "a full disk fails the whole group with nothing appended; with room again it goes on",
  async () => {
    const log = openSqliteLog(newPath());
    await log.append("s", bytesOf("before"));
    const pages = log.database.prepare("PRAGMA page_count").get()?.["page_count"] as number;
    log.database.exec(`PRAGMA max_page_count = ${pages}`);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => log.append("s", new Uint8Array(20_000))),
    );
    for (const result of results) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: { name: "LogError", reason: "unavailable", message: expect.stringContaining("disk is full") },
      });
    }
    expect(await log.tail("s")).toBe(1);
    log.database.exec("PRAGMA max_page_count = 1000000");
    expect(await log.append("s", bytesOf("after"))).toEqual({ kind: "appended", position: 2 });
    await log.close();
  },
);

verifies(
  ["RUN-324", "RTR-69"],
  "a torn page anywhere is refused before anything is touched, the write-ahead log beside it included",
  async () => {
    const path = newPath();
    const log = openSqliteLog(path);
    for (let i = 0; i < 40; i++) await log.append("s", new Uint8Array(3_000).fill(i));
    log.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    await log.append("s", bytesOf("in the write-ahead log alone"));
    const pair = [path, `${path}-wal`];
    const [whole, beside] = pair.map((file) => readFileSync(file)) as [Buffer, Buffer];
    await log.close();
    const pages = whole.byteLength / 4_096;
    let skipped = 0;
    for (let page = 1; page < pages; page++) {
      const torn = Buffer.from(whole);
      torn.fill(0xff, page * 4_096, page * 4_096 + 100);
      writeFileSync(path, torn);
      writeFileSync(`${path}-wal`, beside);
      // A page that the write-ahead log holds anew is read from there.
      let refused = false;
      try {
        await openSqliteLog(path).close();
      } catch (error) {
        expect(error).toMatchObject({ reason: "damaged" });
        refused = true;
      }
      if (refused) expect([readFileSync(path), readFileSync(`${path}-wal`)]).toEqual([torn, beside]);
      if (!refused) skipped++;
    }
    expect(skipped).toBeLessThan(pages / 4);
  },
);

verifies("RTR-69", "a commit that fails, though each unit of it worked, fails them all", async () => {
  const log = openSqliteLog(newPath());
  // Judged at the commit.
  log.migrate("owed", [
    `CREATE TABLE owed_debtor (debtor INTEGER PRIMARY KEY) STRICT;
     CREATE TABLE owed (debtor INTEGER REFERENCES owed_debtor DEFERRABLE INITIALLY DEFERRED) STRICT`,
  ]);
  const insert = log.database.prepare("INSERT INTO owed (debtor) VALUES (?)");
  const results = await Promise.allSettled([
    log.append("s", bytesOf("before")),
    log.transact(() => insert.run(7)),
    log.append("s", bytesOf("after")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(await log.tail("s")).toBe(0);
  expect(await log.append("s", bytesOf("again"))).toEqual({ kind: "appended", position: 1 });
  await log.close();
});

verifies("RUN-117", "units wait while another process holds the file, and keep their order", async () => {
  const path = newPath();
  const log = openSqliteLog(path);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const first = log.append("s", bytesOf("1"));
  const second = log.append("s", bytesOf("2"));
  // More than one group takes.
  const more = Array.from({ length: Limits.groupUnitsMax }, (_, i) => log.append("s", bytesOf(`${i + 3}`)));
  // Two looks at the lock: the thread goes on meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 2 * Limits.busyLookEveryMs));
  expect((await log.read("s", 1)).length).toBe(0);
  other.exec("ROLLBACK");
  other.close();
  expect([await first, await second]).toEqual([
    { kind: "appended", position: 1 },
    { kind: "appended", position: 2 },
  ]);
  expect(await Promise.all(more)).toEqual(more.map((_, i) => ({ kind: "appended", position: i + 3 })));
  await log.close();
});

verifies("RUN-117", "a log that is closed under a foreign lock fails what waits, in words", async () => {
  const path = newPath();
  const log = openSqliteLog(path);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const waiting = expect(log.append("s", bytesOf("1"))).rejects.toThrow("another program holds it locked");
  await log.close();
  await waiting;
  other.close();
});

const counter = [
  "CREATE TABLE counter_total (stream TEXT PRIMARY KEY, total INTEGER NOT NULL) STRICT",
  "ALTER TABLE counter_total ADD COLUMN last INTEGER NOT NULL DEFAULT 0",
];

verifies(
  "RTR-70",
  "a service changes its own tables in the transaction of an entry, or neither",
  async () => {
    const path = newPath();
    const log = openSqliteLog(path);
    log.migrate("counter", counter.slice(0, 1));
    log.migrate("counter", counter);
    log.migrate("counter", counter);
    const bump = log.database.prepare(
      `INSERT INTO counter_total (stream, total, last) VALUES ('s', 1, ?)
     ON CONFLICT (stream) DO UPDATE SET total = total + 1, last = excluded.last`,
    );
    const count = (fail: boolean) =>
      log.transact((unit) => {
        const before = unit.tail("s");
        const appended = unit.append("s", bytesOf(`after ${before}`));
        bump.run(before + 1);
        if (fail) throw new Error("refused");
        return appended;
      });
    const results = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => count(i % 3 === 0)));
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(20);
    await log.close();
    const again = openSqliteLog(path);
    again.migrate("counter", counter);
    expect({ ...again.database.prepare("SELECT * FROM counter_total").get() }).toEqual({
      stream: "s",
      total: 20,
      last: 20,
    });
    const entries = await readAll(again, "s");
    expect(entries.map(({ bytes }) => textOf(bytes))).toEqual(entries.map((_, i) => `after ${i}`));
    expect(() => again.migrate("counter", counter.slice(0, 1))).toThrow(reason("newer"));
    expect(() =>
      again.migrate("broken", ["CREATE TABLE broken_t (n INTEGER) STRICT; SELECT nonsense"]),
    ).toThrow();
    expect(
      again.database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'broken_t'").get(),
    ).toBeUndefined();
    await again.close();
  },
);

verifies("RTR-72", "two logs on one file see each other's appends and never share a position", async () => {
  const path = newPath();
  const [left, right] = [openSqliteLog(path), openSqliteLog(path)];
  const seen: Array<Entry> = [];
  const following = (async () => {
    for await (const entry of right.subscribe("s", 1)) if (seen.push(entry) === 60) return;
  })();
  for (let i = 0; i < 30; i++) {
    const [one, two] = await Promise.all([left.append("s", bytesOf("l")), right.append("s", bytesOf("r"))]);
    expect(one).not.toEqual(two);
  }
  await following;
  expect(seen.map((entry) => entry.position)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
  const tail = await left.tail("s");
  const race = await Promise.all(
    [left, right].map((log) => log.append("s", bytesOf("x"), { expectedTail: tail })),
  );
  expect(race.map((result) => result.kind).toSorted()).toEqual(["appended", "position_conflict"]);
  await left.close();
  await right.close();
});

verifies(
  "RTR-72",
  "a writer that cannot get the file in time is told so and nothing is appended",
  async () => {
    const path = newPath();
    const log = openSqliteLog(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(log.append("s", bytesOf("1"))).rejects.toEqual(reason("unavailable"));
    other.exec("ROLLBACK");
    other.close();
    expect(await log.append("s", bytesOf("1"))).toEqual({ kind: "appended", position: 1 });
    await log.close();
  },
);

verifies("RTR-73", "the file and its companions are readable by their owner only", async () => {
  const path = newPath();
  const log = openSqliteLog(path);
  await log.append("s", bytesOf("1"));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  await log.close();
});

verifies("RTR-73", "a file that is no log of this version is refused and left as it was", async () => {
  const foreign = newPath();
  const database = new DatabaseSync(foreign);
  database.exec("CREATE TABLE theirs (n INTEGER)");
  database.close();
  const theirs = readFileSync(foreign);
  expect(() => openSqliteLog(foreign)).toThrow(reason("damaged"));
  expect(readFileSync(foreign)).toEqual(theirs);
  const text = newPath();
  writeFileSync(text, "not a database, but long enough to be mistaken for one ".repeat(40));
  const before = readFileSync(text);
  expect(() => openSqliteLog(text)).toThrow(reason("damaged"));
  expect(readFileSync(text)).toEqual(before);
  const newer = newPath();
  const log = openSqliteLog(newer);
  log.database.exec("UPDATE log_component SET version = 99 WHERE name = 'log'");
  await log.close();
  expect(() => openSqliteLog(newer)).toThrow(reason("newer"));
  expect(() => openSqliteLog(join(folder, "absent", "log.sqlite"))).toThrow(reason("unavailable"));
});

verifies("RTR-73", "a damaged page is an error of the read that meets it, never other entries", async () => {
  const path = newPath();
  const log = openSqliteLog(path);
  for (let i = 0; i < 50; i++) await log.append("s", new Uint8Array(3_000).fill(i));
  await log.close();
  const copy = newPath();
  copyFileSync(path, copy);
  const bytes = readFileSync(copy);
  // Found sound when it was opened, and damaged since: every page but the first, which is in memory by now.
  const damaged = openSqliteLog(copy);
  for (let page = 6; page < bytes.byteLength / 4096; page++) bytes.fill(0xff, page * 4096, page * 4096 + 100);
  writeFileSync(copy, bytes);
  await expect(readAll(damaged, "s")).rejects.toEqual(reason("damaged"));
  await damaged.close();
});

verifies(
  "RUN-101",
  "a log that keeps its file whole has every settled append in that one file, another process's too",
  async () => {
    const entriesIn = async (path: string): Promise<ReadonlyArray<string>> => {
      const copy = newPath();
      copyFileSync(path, copy);
      const log = openSqliteLog(copy);
      const entries = await readAll(log, "load");
      await log.close();
      return entries.map(({ bytes }) => textOf(bytes));
    };
    const path = newPath();
    const log = openSqliteLog(path, { keepsFileWhole: true });
    const beside = openSqliteLog(path, { keepsFileWhole: true });
    await log.append("load", bytesOf("one"));
    expect(await entriesIn(path)).toEqual(["one"]);
    await beside.append("load", bytesOf("two"));
    expect(await entriesIn(path)).toEqual(["one", "two"]);

    const usual = newPath();
    const other = openSqliteLog(usual);
    await other.append("load", bytesOf("one"));
    expect(await entriesIn(usual)).toEqual([]);
    const whole = openSqliteLog(usual, { keepsFileWhole: true });
    expect(await entriesIn(usual)).toEqual(["one"]);
    for (const each of [log, beside, other, whole]) await each.close();
  },
);
