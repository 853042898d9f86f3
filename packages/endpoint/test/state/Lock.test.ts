import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect } from "vitest";
import * as Lock from "../../src/state/Lock.ts";
import * as ProcessBirth from "../../src/state/ProcessBirth.ts";
import type { StateError } from "../../src/state/StateError.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";

let root: string;
let folder: StateFolder.StateFolder;
const children: Array<ChildProcess> = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "social-harness-lock-"));
  folder = StateFolder.open(join(root, "state"));
});
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  rmSync(root, { recursive: true, force: true });
});

const holderScript = join(import.meta.dirname, "LockHolder.ts");

/** Another process that holds the folder's lock. */
const hold = async (path: string): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [holderScript, path], { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
};

const kill = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
};

const refusalOf = (at: StateFolder.StateFolder = folder): StateError => {
  try {
    Lock.acquire(at).release();
  } catch (error) {
    return error as StateError;
  }
  throw new Error("the lock was free");
};

verifies("RUN-21", "a second daemon is refused and told who holds the folder", async () => {
  const child = await hold(folder.path);
  const refusal = refusalOf();
  expect(refusal.reason).toBe("held");
  expect(refusal.message).toContain(`${folder.path} is in use by the daemon with pid ${child.pid}`);
});

verifies(
  "RUN-21",
  "also in one process, through a symlink and through another name of the lock itself",
  async () => {
    const lock = Lock.acquire(folder);
    expect(refusalOf().reason).toBe("held");
    lock.release();

    const child = await hold(folder.path);
    symlinkSync(folder.path, join(root, "link"));
    expect(refusalOf(StateFolder.open(join(root, "link"))).message).toContain(`pid ${child.pid}`);
    // What a bind mount is to the kernel: another path to the same file.
    mkdirSync(join(root, "mounted"), { mode: 0o700 });
    linkSync(folder.lock, join(root, "mounted", "lock"));
    expect(refusalOf(StateFolder.at(join(root, "mounted"))).message).toContain(`pid ${child.pid}`);
  },
);

verifies(
  "RUN-21",
  "C54: a killed holder stops nobody, even when its pid is now another live process",
  async () => {
    for (let round = 0; round < 3; round++) {
      await kill(await hold(folder.path));
      // The pid that the dead holder left behind is given to a process that lives: this one.
      const database = new DatabaseSync(folder.lock);
      database.prepare("UPDATE holder SET pid = ?").run(process.ppid);
      database.close();
      Lock.acquire(folder).release();
    }
  },
);

verifies("RUN-21", "a clean stop frees the folder at once", async () => {
  const child = await hold(folder.path);
  const gone = once(child, "exit");
  (child.stdin as NodeJS.WritableStream).end();
  await gone;
  Lock.acquire(folder).release();
});

verifies("RUN-21", "of many that start at once exactly one gets the folder", async () => {
  const starts = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, [holderScript, folder.path], { stdio: ["pipe", "pipe", "ignore"] });
    children.push(child);
    return Promise.race([
      once(child.stdout, "data").then(() => "held"),
      once(child, "exit").then(() => "refused"),
    ]);
  });
  const outcomes = await Promise.all(starts);
  expect(outcomes.toSorted()).toEqual(["held", "refused", "refused", "refused"]);
  expect(refusalOf().reason).toBe("held");
});

verifies("RUN-21", "a damaged lock file is named, and nothing else is touched", () => {
  writeFileSync(folder.lock, "this is not a database, it only has to be long enough".repeat(20));
  const refusal = refusalOf();
  expect(refusal.reason).toBe("malformed");
  expect(refusal.message).toContain(folder.lock);
});

verifies("RUN-121", "a bind mount of the folder leads to the same lock", async ({ skip }) => {
  const mounted = join(root, "bound");
  mkdirSync(mounted, { mode: 0o700 });
  try {
    execFileSync("mount", ["--bind", folder.path, mounted], { stdio: "pipe" });
  } catch {
    return skip("a folder cannot be mounted here: that takes root and the right to mount");
  }
  try {
    const child = await hold(folder.path);
    expect(refusalOf(StateFolder.open(mounted)).message).toContain(`pid ${child.pid}`);
    await kill(child);
    Lock.acquire(StateFolder.open(mounted)).release();
  } finally {
    execFileSync("umount", ["--lazy", mounted], { stdio: "pipe" });
  }
});

verifies(
  "RUN-119",
  "a holder is named when its process is the one that took the lock, born when it was",
  async () => {
    expect(Lock.look(folder)).toBeNull();
    const child = await hold(folder.path);
    expect(Lock.look(folder)).toEqual({
      kind: "process",
      pid: child.pid,
      born: ProcessBirth.of(child.pid as number),
    });
    await kill(child);
    expect(Lock.look(folder)).toBeNull();
    const database = new DatabaseSync(folder.lock);
    database.prepare("UPDATE holder SET pid = ?").run(process.ppid);
    database.exec("BEGIN IMMEDIATE");
    expect(Lock.look(folder)).toEqual({ kind: "unseen" });
    expect(refusalOf().message).toContain("cannot be seen from here");
    database.close();
  },
);

verifies("RUN-119", "a lock of an older program, which kept no births, names nobody", () => {
  const database = new DatabaseSync(folder.lock);
  database.exec("CREATE TABLE holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER)");
  database.exec(`INSERT INTO holder VALUES (1, ${process.ppid}); BEGIN IMMEDIATE`);
  expect(Lock.look(folder)).toEqual({ kind: "unseen" });
  database.close();
  Lock.acquire(folder).release();
});

const tableOf = "CREATE TABLE holder (one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER, born TEXT)";

verifies("RUN-303", "C54: a holder that wrote no birth names nobody, also when its pid is nobody's", () => {
  const database = new DatabaseSync(folder.lock);
  // Above what any kernel gives: that process has no birth either.
  database.exec(`${tableOf}; INSERT INTO holder VALUES (1, 99999999, NULL); BEGIN IMMEDIATE`);
  expect(ProcessBirth.of(99_999_999)).toBeNull();
  expect(Lock.look(folder)).toEqual({ kind: "unseen" });
  database.close();
});

verifies("RUN-303", "C54: a birth is one of this boot", ({ skip }) => {
  if (process.platform !== "linux") skip("elsewhere a birth is a date");
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const [saidBoot, ticks, ...more] = (ProcessBirth.of(process.pid) ?? "").split(" ");
  expect([saidBoot, more]).toEqual([boot, []]);
  expect(ticks).toMatch(/^[1-9]\d*$/);
});

verifies("RUN-303", "of two that write themselves down, the row names the one that got the lock", () => {
  // Another that writes between this one's word and its lock, and does not get it: once by its pid, once as the process of
  // the same pid in another container.
  for (const other of ["pid = 1", "born = 'elsewhere'"]) {
    const database = new DatabaseSync(folder.lock);
    database.exec(`DROP TABLE IF EXISTS holder; ${tableOf}; CREATE TABLE written (once)`);
    database.exec(
      `CREATE TRIGGER other AFTER INSERT ON holder WHEN NOT EXISTS (SELECT 1 FROM written)
       BEGIN UPDATE holder SET ${other}; INSERT INTO written VALUES (1); END`,
    );
    const lock = Lock.acquire(folder);
    const born = ProcessBirth.of(process.pid);
    expect(Lock.look(folder)).toEqual({ kind: "process", pid: process.pid, born });
    lock.release();
    database.exec("DROP TABLE written");
    database.close();
  }
});

verifies("RUN-303", "who holds the lock may look at it, and keeps it", async () => {
  const lock = Lock.acquire(folder);
  for (let looks = 0; looks < 3; looks++)
    expect(Lock.look(folder, 0)).toMatchObject({ kind: "process", pid: process.pid });
  const other = spawn(process.execPath, [holderScript, folder.path], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  children.push(other);
  expect(await once(other, "exit")).not.toEqual([0, null]);
  lock.release();
});

verifies("RUN-303", "where the disk takes no change nobody can tell who holds it", async ({ skip }) => {
  const mounted = join(root, "readonly");
  mkdirSync(mounted, { mode: 0o700 });
  try {
    execFileSync("mount", ["--bind", folder.path, mounted], { stdio: "pipe" });
    execFileSync("mount", ["--options", "remount,bind,ro", mounted], { stdio: "pipe" });
  } catch {
    return skip("a folder cannot be mounted here: that takes root and the right to mount");
  }
  try {
    await hold(folder.path);
    expect(() => Lock.look(StateFolder.at(mounted))).toThrow("read-only");
  } finally {
    execFileSync("umount", ["--lazy", mounted], { stdio: "pipe" });
  }
});
