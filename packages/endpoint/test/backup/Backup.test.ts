// What a backup holds, that it is whole or not there, and that a damaged original is found before anything is written.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Backup from "../../src/backup/Backup.ts";
import * as Manifest from "../../src/backup/Manifest.ts";
import * as Database from "../../src/store/Database.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { useWrittenStore } from "../store/WrittenStore.ts";
import { filesIn, writtenFolder } from "./WrittenFolder.ts";

const store = useWrittenStore();
const now = Date.UTC(2026, 0, 2, 3, 4, 5);

const refusal = (write: Promise<unknown>): Promise<{ readonly reason: string; readonly message: string }> =>
  write.then(
    () => {
      throw new Error("it was written");
    },
    (error: unknown) => error as { readonly reason: string; readonly message: string },
  );

verifies(
  ["RUN-180", "RUN-182"],
  "holds keys, configuration, rules and the store, for its owner alone, and no token",
  async () => {
    const folder = writtenFolder(store);
    const target = join(dirname(folder.path), "copy");
    const manifest = await Backup.write(folder, target, { now });
    expect(manifest).toMatchObject({ agentName: "ann", createdAt: "2026-01-02T03:04:05Z" });
    expect([...filesIn(target).keys()]).toEqual([
      ".gitignore",
      "backup.json",
      "config.json",
      "endpoint.sqlite",
      "firewall.json",
      "identity.json",
    ]);
    expect(statSync(target).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(target)) expect(statSync(join(target, name)).mode & 0o077, name).toBe(0);
    for (const name of ["identity.json", "config.json", "firewall.json"]) {
      expect(readFileSync(join(target, name))).toEqual(readFileSync(join(folder.path, name)));
    }
    expect(await Manifest.read(target)).toEqual(manifest);
    for (const path of [folder.ownerToken, folder.runtimeToken, folder.metricsToken]) {
      const token = readFileSync(path);
      for (const bytes of filesIn(target).values()) expect(bytes.includes(token)).toBe(false);
    }
    expect(readdirSync(dirname(target)).toSorted()).toEqual(["copy", "state"]);
  },
);

verifies(
  "RUN-180",
  "is the store of one moment, with what a running daemon has in its log alone and not what it has yet to commit",
  async () => {
    const folder = writtenFolder(store);
    const target = join(dirname(folder.path), "copy");
    const daemon = Database.open(folder.database);
    const other = new DatabaseSync(folder.database);
    try {
      daemon.run("INSERT INTO setting (name, value) VALUES ('committed', x'01')");
      other.exec("BEGIN IMMEDIATE; INSERT INTO setting (name, value) VALUES ('under-way', x'01')");
      await Backup.write(folder, target, { now });
      other.exec("COMMIT");
    } finally {
      other.close();
      daemon.close();
    }
    const copy = Database.openSnapshot(join(target, "endpoint.sqlite"));
    try {
      const names = copy.all("SELECT name FROM setting").map(({ name }) => name);
      expect([names.includes("committed"), names.includes("under-way")]).toEqual([true, false]);
      expect((await check(copy, store.trust, { scope: "everything" })).records).toBeGreaterThan(0);
    } finally {
      copy.close();
    }
    expect(readdirSync(target).filter((name) => name.includes("-wal") || name.includes("-shm"))).toEqual([]);
  },
);

verifies(
  "RUN-181",
  "replaces nothing, and of an endpoint that cannot be backed up nothing is left",
  async () => {
    const folder = writtenFolder(store);
    const around = dirname(folder.path);
    for (const taken of ["file", "folder"]) {
      const target = join(around, taken);
      if (taken === "file") writeFileSync(target, "mine");
      else mkdirSync(target);
      const { reason, message } = await refusal(Backup.write(folder, target, { now }));
      expect(reason).toBe("exists");
      expect(message).toContain("give another folder");
    }
    expect(readFileSync(join(around, "file"), "utf8")).toBe("mine");
    expect(readdirSync(join(around, "folder"))).toEqual([]);
    expect((await refusal(Backup.write(folder, join(around, "file", "copy"), { now }))).reason).toBe(
      "exists",
    );
    writeFileSync(folder.identity, "{}");
    const damaged = await refusal(Backup.write(folder, join(around, "copy"), { now }));
    expect([damaged.reason, damaged.message]).toEqual([
      "malformed",
      expect.stringContaining(folder.identity),
    ]);
    expect(readdirSync(around).toSorted()).toEqual(["file", "folder", "state"]);
  },
);

verifies(
  "RUN-181",
  "a damaged store, and one of other keys, is refused in words, left as it is, and never copied under its name",
  async () => {
    const target = (folder: string): string => join(dirname(folder), "copy");
    const torn = writtenFolder(store);
    truncateSync(torn.database, statSync(torn.database).size - 4_096);
    const changed = writtenFolder(store);
    const sqlite = new DatabaseSync(changed.database);
    sqlite.exec("UPDATE record SET core = replace(core, 'one', 'two') WHERE sequence = 1");
    sqlite.close();
    const exchanged = writtenFolder(store);
    const keys = readFileSync(exchanged.identity, "utf8");
    writeFileSync(exchanged.identity, keys.replace(/("signingSeed":")../, "$1AA"));
    for (const folder of [torn, changed, exchanged]) {
      const before = readFileSync(folder.database);
      const { reason, message } = await refusal(Backup.write(folder, target(folder.path), { now }));
      expect(reason, message).toBe("corrupt");
      expect(existsSync(target(folder.path))).toBe(false);
      expect(readdirSync(dirname(folder.path))).toEqual(["state"]);
      expect(readFileSync(folder.database)).toEqual(before);
    }
  },
);
