// What a restored folder is, what it is made from and what not, and that nobody signs in it before its members are asked.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Backup from "../../src/backup/Backup.ts";
import * as Restore from "../../src/backup/Restore.ts";
import * as LostMemory from "../../src/conversations/LostMemory.ts";
import { boundCard } from "../../src/operations/Registration.ts";
import * as Identity from "../../src/state/Identity.ts";
import { StateError } from "../../src/state/StateError.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { hasRecovered, votesOf } from "../conversations/Restoring.ts";
import { alter } from "../store/TemporaryStore.ts";
import { addresses, readAll, useWrittenStore } from "../store/WrittenStore.ts";
import { filesIn, writtenFolder } from "./WrittenFolder.ts";

const store = useWrittenStore();
const now = Date.UTC(2026, 0, 2);

const backedUp = async (): Promise<{ readonly around: string; readonly backup: string }> => {
  const folder = writtenFolder(store);
  // What was on its way at that moment.
  alter(folder.database, (sqlite) =>
    sqlite.exec("INSERT INTO outbox (sequence, message_id, envelope) VALUES (1000000, 'msg_x', '{}')"),
  );
  const around = dirname(folder.path);
  const backup = join(around, "backup");
  await Backup.write(folder, backup, { now });
  return { around, backup };
};

const refusal = async (
  work: Promise<unknown>,
): Promise<{ readonly reason: string; readonly message: string }> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof StateError || error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("it was restored");
};

const inStore = <A>(path: string, look: (db: Database.Database) => A): A => {
  const db = Database.openSnapshot(StateFolder.at(path).database);
  try {
    return look(db);
  } finally {
    db.close();
  }
};

verifies(
  ["RUN-184", "RUN-185"],
  "a restored folder holds what was certified, is its owner's alone, and every conversation is to be told of the loss",
  async () => {
    const { around, backup } = await backedUp();
    const before = filesIn(backup);
    const target = join(around, "new", "state");
    const restored = await Restore.restore(backup, target, { now });
    const { n } = inStore(target, (db) => db.get("SELECT count(*) AS n FROM conversation")) as { n: number };
    expect(restored).toEqual({
      kind: "restored",
      agentName: "ann",
      createdAt: "2026-01-02T00:00:00Z",
      conversations: n,
    });
    expect(filesIn(backup)).toEqual(before);
    expect(statSync(target).mode & 0o777).toBe(0o700);
    for (const name of filesIn(target).keys()) {
      expect(statSync(join(target, name)).mode & 0o077, name).toBe(0);
    }
    expect(readFileSync(join(target, ".gitignore"), "utf8")).toBe("*\n");
    for (const name of ["owner-token", "runtime-token", "metrics-token"])
      expect(existsSync(join(target, name))).toBe(false);
    inStore(target, (db) => {
      expect(LostMemory.notedAt(db)).toBe(now);
      expect(LostMemory.untoldIds(db, null, 100)).toHaveLength(n);
      expect(db.get("SELECT count(*) AS n FROM outbox")).toEqual({ n: 0 });
      expect(db.get("SELECT 1 FROM lane_head WHERE sequence = 1")).toBeUndefined();
    });
    const db = Database.open(StateFolder.at(target).database);
    try {
      for (const address of addresses)
        expect(await readAll(db, store.trust, address)).toEqual(store.histories.get(address));
    } finally {
      db.close();
    }
    expect(readdirSync(dirname(target))).toEqual(["state"]);
  },
);

verifies(
  "RUN-351",
  "a link to an empty folder is followed, and one that leads nowhere is told as that",
  async () => {
    const { around, backup } = await backedUp();
    const [empty, link, nowhere] = ["empty", "link", "nowhere"].map((name) => join(around, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(empty);
    symlinkSync(empty, link);
    symlinkSync(join(around, "absent"), nowhere);
    expect((await Restore.restore(backup, link, { now })).kind).toBe("restored");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(filesIn(empty).has("endpoint.sqlite")).toBe(true);
    expect((await refusal(Restore.restore(backup, nowhere, { now }))).message).toContain("leads nowhere");
    expect(lstatSync(nowhere).isSymbolicLink()).toBe(true);
  },
);

verifies("RUN-351", "a place where something is mounted is refused in words", async ({ skip }) => {
  const { around, backup } = await backedUp();
  const [place, other] = [join(around, "place"), join(around, "other")];
  mkdirSync(place);
  mkdirSync(other);
  for (const words of [
    ["-t", "tmpfs", "tmpfs", place],
    ["--bind", other, place],
  ]) {
    try {
      execFileSync("mount", words, { stdio: "pipe" });
    } catch {
      return skip("a folder cannot be mounted here: that takes root and the right to mount");
    }
    try {
      const refused = await refusal(Restore.restore(backup, place, { now }));
      expect(refused.message).toContain("is where something is mounted");
      expect(readdirSync(place)).toEqual([]);
      expect(readdirSync(around).filter((name) => name.includes("unfinished"))).toEqual([]);
    } finally {
      execFileSync("umount", ["--lazy", place], { stdio: "pipe" });
    }
  }
});

verifies(
  "RUN-186",
  "a restore that is repeated changes nothing, an empty folder is taken, and any other is left as it is",
  async () => {
    const { around, backup } = await backedUp();
    const target = join(around, "target");
    mkdirSync(target, { mode: 0o755 });
    expect((await Restore.restore(backup, target, { now })).kind).toBe("restored");
    const made = filesIn(target);
    const again = await Restore.restore(backup, target, { now: now + 1 });
    expect([again.kind, again.conversations > 0]).toEqual(["already", true]);
    expect(filesIn(target).get("endpoint.sqlite")).toEqual(made.get("endpoint.sqlite"));
    const otherBackup = join(around, "other");
    await Backup.write(StateFolder.at(join(around, "state")), otherBackup, { now: now + 1_000 });
    for (const [from, to] of [
      [otherBackup, target],
      [backup, join(around, "state")],
      [backup, otherBackup],
      [backup, join(target, "config.json")],
    ] as const) {
      const before = filesIn(around);
      expect((await refusal(Restore.restore(from, to, { now }))).reason, to).toBe("exists");
      for (const [name, bytes] of filesIn(around)) {
        if (!name.endsWith("-shm")) expect(bytes, name).toEqual(before.get(name));
      }
    }
  },
);

const flipped = (bytes: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(bytes);
  const at = (bit >> 3) % copy.length;
  copy[at] = (copy[at] as number) ^ (1 << (bit & 7));
  return copy;
};

verifies(
  "RUN-183",
  "C51 a backup with any bit flipped, or a file missing, is told as damaged, is used for nothing and left as it is",
  async () => {
    const { around, backup } = await backedUp();
    const target = join(around, "target");
    const whole = filesIn(backup);
    for (const name of ["backup.json", "identity.json", "config.json", "firewall.json", "endpoint.sqlite"]) {
      const path = join(backup, name);
      const bytes = whole.get(name) as Buffer;
      const bits = bytes.length * 8;
      const step = Math.max(1, Math.floor(bits / 97));
      for (let bit = 3; bit < bits; bit += step) {
        const damaged = flipped(bytes, bit);
        writeFileSync(path, damaged);
        const { reason, message } = await refusal(Restore.restore(backup, target, { now }));
        // A flipped bit in the version's one digit is a version, too.
        const expected = /version \d/.test(message) ? "other-version" : "malformed";
        expect(reason, `${name} ${bit}`).toBe(expected);
        expect(readFileSync(path)).toEqual(damaged);
      }
      rmSync(path);
      const { reason } = await refusal(Restore.restore(backup, target, { now }));
      expect(reason).toBe(name === "backup.json" ? "missing" : "malformed");
      execFileSync("mkfifo", ["-m", "600", path]);
      expect((await refusal(Restore.restore(backup, target, { now }))).reason).toBe("malformed");
      rmSync(path);
      writeFileSync(path, bytes, { mode: 0o600 });
    }
    expect(readdirSync(around).toSorted()).toEqual(["backup", "state"]);
    chmodSync(join(backup, "identity.json"), 0o644);
    expect((await refusal(Restore.restore(backup, target, { now }))).reason).toBe("permissions");
    chmodSync(join(backup, "identity.json"), 0o600);
    expect((await Restore.restore(backup, target, { now })).kind).toBe("restored");
  },
);

verifies(
  "RUN-187",
  "a backup of another version is told as that, and no folder is made from it",
  async () => {
    const { around, backup } = await backedUp();
    for (const later of [
      { version: 2, kind: "backup", shards: [] },
      { version: 0, kind: "backup" },
    ]) {
      writeFileSync(join(backup, "backup.json"), CanonicalJson.encode(later));
      const { reason, message } = await refusal(Restore.restore(backup, join(around, "target"), { now }));
      expect([reason, message]).toEqual([
        "other-version",
        expect.stringContaining(`version ${later.version}`),
      ]);
    }
    const absent = await refusal(Restore.restore(join(around, "none"), join(around, "target"), { now }));
    expect([absent.reason, absent.message]).toEqual(["missing", expect.stringContaining("does not exist")]);
    const none = await refusal(Restore.restore(join(around, "state"), join(around, "target"), { now }));
    expect([none.reason, none.message]).toEqual(["missing", expect.stringContaining("is no backup")]);
    expect(existsSync(join(around, "target"))).toBe(false);
  },
);

const isUsable = (load: () => unknown): boolean => {
  try {
    load();
    return true;
  } catch {
    return false;
  }
};

verifies(
  "RUN-188",
  "C51 keys with any bit flipped are never used beside the store of their agent, and never changed",
  () => {
    const folder = writtenFolder(store);
    const good = readFileSync(folder.identity);
    const db = Database.open(folder.database);
    try {
      const { signingKey, sealingKey } = Identity.load(folder) as Identity.Identity;
      const publicKeys = { signingKey, sealingKey };
      expect(boundCard(db, Identity.load(folder) as Identity.Identity)?.agentName).toBe("ann");
      let refused = 0;
      for (let bit = 0; bit < good.length * 8; bit++) {
        const damaged = flipped(good, bit);
        writeFileSync(folder.identity, damaged);
        const load = (): unknown => boundCard(db, Identity.load(folder) as Identity.Identity);
        // A few bits of a sealing seed are no part of its key.
        if (!isUsable(load)) {
          expect(load, `bit ${bit}`).toThrow(/damaged|start the newer program|put the matching file back/);
          refused++;
        } else expect(Identity.load(folder)).toMatchObject(publicKeys);
        expect(readFileSync(folder.identity)).toEqual(damaged);
      }
      expect(refused).toBeGreaterThan(good.length * 8 - 16);
    } finally {
      db.close();
    }
  },
);

verifies(
  "RUN-185",
  "a store that came back together with the Router's log signs nothing that conflicts with what it signed in between",
  async () => {
    const names = ["ann", "bob", "cyd", "dan"] as const;
    const address = `group:${names.join()}`;
    const network = await testNetwork();
    const { router } = network;
    for (const agent of await network.openAll(names)) await agent.send(address, `${agent.name} begins`);
    expect((await network.judge(names)).problems).toEqual([]);
    await router.stop();
    router.saveLog("early");
    await router.start();
    network.keepStore("ann", "early");
    // Certified by three of four: `ann` has voted, and `dan` was away and knows nothing of it.
    const [, bob] = await network.openAll(["ann", "bob", "cyd"]);
    expect((await bob.send(address, "after the backup")).status).toBe("certified");
    expect((await network.judge(["ann", "bob", "cyd"])).problems).toEqual([]);
    const newest = network.keepStore("ann", "newest");

    network.replaceStore("ann", "early");
    const db = Database.open(network.storeOf("ann"));
    Restore.mark(db, Date.now(), "a backup");
    db.close();
    await router.stop();
    router.replaceLog("early");
    await router.start();
    // Nobody is there who could tell: the Router knows no more than the copy, and `dan` proposes for the same place.
    const [ann, dan] = await network.openAll(["ann", "dan"]);
    const votes = votesOf(ann);
    const said = dan.send(address, "in the same place");
    await until("ann has seen it", () => ann.db.get("SELECT 1 FROM candidate") !== undefined);
    expect(votesOf(ann)).toBe(votes);
    await network.openAll(["bob", "cyd"]);
    expect((await said).status).toBe("certified");
    expect((await ann.send(address, "welcome back")).status).toBe("certified");
    await until("ann has recovered", () => hasRecovered(ann));
    const { problems, conversations } = await network.judge(names, [newest]);
    expect(problems).toEqual([]);
    expect(conversations).toBe(1);
  },
  120_000,
);
