import type * as Fs from "node:fs";
import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Settings from "../../src/store/Settings.ts";
import * as StoreFault from "../../src/store/StoreFault.ts";
import * as StoreStanding from "../../src/store/StoreStanding.ts";
import { temporaryPath, temporaryStore } from "./TemporaryStore.ts";

/** Blocks of 4 KB that the disk has left; null: as many as there are. */
const disk = vi.hoisted((): { room: number | null } => ({ room: null }));
vi.mock("node:fs", async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const statfsSync = (path: string) =>
    disk.room === null ? fs.statfsSync(path) : { bavail: disk.room, bsize: 4_096 };
  return { ...fs, statfsSync };
});

/** Only those that watch a trouble: each standing looks around once in a while besides. */
const probeMs = 1_000;

/** A store whose failures, time and timers are the test's. */
const bench = () => {
  const path = temporaryPath();
  const store = temporaryStore(path);
  const lock = `${path}.lock`;
  writeFileSync(lock, "");
  let failure: Error | null = null;
  let failsIn: "everything" | "reads" = "everything";
  let now = 1_000_000;
  const timers: Array<() => void> = [];
  let look: (() => void) | null = null;
  const lines: Array<readonly [event: string, reason: unknown]> = [];
  const failing = <A>(work: () => A, kind: "reads" | "everything" = "everything"): A => {
    if (failure !== null && (failsIn === "everything" || kind === "reads")) throw failure;
    return work();
  };
  const standing = StoreStanding.create({
    db: {
      ...store,
      get: (sql, ...values) => failing(() => store.get(sql, ...values), "reads"),
      run: (sql, ...values) => failing(() => store.run(sql, ...values)),
      transaction: (body) => failing(() => store.transaction(body)),
    },
    path,
    beside: [lock],
    clock: () => now,
    schedule: (delayMs, fire) => {
      if (delayMs > probeMs) {
        look = fire;
        return () => void (look = null);
      }
      timers.push(fire);
      return () => void timers.splice(timers.indexOf(fire), 1);
    },
    logger: (_level, event, fields) => lines.push([event, fields?.["reason"]]),
  });
  onTestFinished(() => void (disk.room = null));
  return {
    standing,
    path,
    lock,
    /** Lets the time come in which an idle store is looked at. */
    look: () => {
      now += 3_000;
      look?.();
    },
    isLooking: () => look !== null,
    timers,
    lines,
    fail: (code: number | null, what: "everything" | "reads" = "everything") => {
      failsIn = what;
      failure =
        code === null
          ? null
          : Object.assign(new Error("refused"), { code: "ERR_SQLITE_ERROR", errcode: code });
    },
    write: () => {
      try {
        standing.db.transaction(() => Settings.put(standing.db, "router_cursor", 1));
      } catch {
        // The trouble is what the test looks at.
      }
    },
    /** Lets a second pass. */
    tick: () => {
      now += 1_000;
      for (const fire of timers.splice(0)) fire();
    },
    wait: (ms: number) => {
      now += ms;
    },
  };
};

const full = 13;
const locked = 5;
const ioWrite = 10 | (3 << 8);
const corrupt = 11;

verifies(["RUN-112", "RUN-113"], "a trouble is said once, watched, and said once when it is over", () => {
  const made = bench();
  const heard: Array<string | null> = [];
  made.standing.subscribe((trouble) => heard.push(trouble?.reason ?? null));
  made.fail(full);
  for (let round = 0; round < 5; round++) {
    made.write();
    made.tick();
  }
  expect(made.standing.trouble()).toMatchObject({ reason: "full", since: 1_000_000 });
  made.fail(null);
  made.tick();
  expect(made.standing.trouble()).toBeNull();
  expect(heard).toEqual(["full", null]);
  expect(made.lines).toEqual([
    ["the store cannot be used", "full"],
    ["the store works again", "full"],
  ]);
  expect(made.timers).toEqual([]);
});

verifies("RUN-112", "a disk that is full again and again within a minute says so once", () => {
  const made = bench();
  for (let round = 0; round < 10; round++) {
    made.fail(full);
    made.write();
    made.fail(null);
    for (let ticks = 0; ticks < 20; ticks++) made.tick();
  }
  expect(made.lines).toHaveLength(2);
  made.wait(120_000);
  made.fail(full);
  made.write();
  expect(made.lines).toHaveLength(3);
});

verifies(
  ["RUN-111", "RUN-112"],
  "what small writes get past and larger ones do not is not over each second",
  () => {
    const made = bench();
    /** Ticks until it counts as over, small writes succeeding. */
    const ticksOfTrouble = (): number => {
      let ticks = 0;
      for (; made.standing.trouble() !== null && ticks < 100; ticks++) made.tick();
      return ticks;
    };
    const durations: Array<number> = [];
    for (let round = 0; round < 6; round++) {
      made.fail(ioWrite);
      made.write();
      made.fail(null);
      durations.push(ticksOfTrouble());
    }
    expect(durations).toEqual([1, 3, 5, 9, 16, 16]);
    // A larger write that fails in between begins it anew.
    made.fail(ioWrite);
    made.write();
    made.fail(null);
    for (let ticks = 0; ticks < 10; ticks++) made.tick();
    made.fail(ioWrite);
    made.write();
    made.fail(null);
    expect(ticksOfTrouble()).toBe(16);
    // After a quiet minute it is new, and over at once.
    made.wait(120_000);
    made.fail(ioWrite);
    made.write();
    made.fail(null);
    expect(ticksOfTrouble()).toBe(1);
  },
);

verifies("RUN-112", "a lock is a trouble when it lasts", () => {
  const made = bench();
  made.fail(locked);
  made.write();
  expect(made.standing.trouble()).toBeNull();
  made.fail(null);
  made.tick();
  expect(made.lines).toEqual([]);
  made.fail(locked);
  made.write();
  made.tick();
  expect(made.standing.trouble()?.reason).toBe("locked");
  // The disk itself fails meanwhile: that is another thing to do.
  made.fail(ioWrite);
  made.tick();
  expect(made.standing.trouble()?.reason).toBe("input-output");
  made.fail(null);
  made.tick();
  expect(made.lines.map(([, reason]) => reason)).toEqual(["locked", "input-output", "input-output"]);
});

for (const which of ["everything", "reads"] as const) {
  verifies(
    "RUN-111",
    `a page that could not be read is read again until it can be, where ${which} failed`,
    () => {
      const made = bench();
      made.fail(corrupt, which);
      expect(() => made.standing.db.get("SELECT 1 AS one")).toThrow();
      made.tick();
      made.tick();
      expect(made.standing.trouble()?.reason).toBe("damaged");
      made.fail(null);
      made.tick();
      expect(made.standing.trouble()).toBeNull();
      expect(made.lines).toHaveLength(2);
    },
  );
}

verifies(["RUN-110", "RUN-111"], "a damage that a write met stays until a restart", () => {
  const made = bench();
  made.fail(full);
  made.write();
  made.fail(corrupt);
  made.write();
  made.fail(null);
  made.tick();
  made.write();
  expect(made.standing.trouble()).toMatchObject({ reason: "damaged" });
  expect(made.standing.trouble()?.explanation).toContain("restore it from a backup");
  expect(made.timers).toEqual([]);
});

verifies("RUN-110", "a defect of the program is no trouble of the store", () => {
  const made = bench();
  expect(() =>
    made.standing.db.transaction(() => {
      throw new Error("in vain");
    }),
  ).toThrow("in vain");
  expect(made.standing.trouble()).toBeNull();
  expect(made.lines).toEqual([]);
});

verifies("RUN-113", "a closed one watches nothing any more", () => {
  const made = bench();
  made.fail(full);
  made.write();
  made.standing.close();
  made.write();
  expect(made.timers).toEqual([]);
  expect(made.isLooking()).toBe(false);
  expect(made.lines).toHaveLength(1);
});

verifies("RUN-112", "a clock that was set back since does not make an old trouble of a new one", () => {
  const made = bench();
  made.fail(full);
  made.write();
  made.fail(null);
  made.tick();
  made.wait(-3_600_000);
  made.fail(full);
  made.write();
  expect(made.lines).toHaveLength(3);
});

verifies(["RUN-110", "RUN-111"], "a disk is full until it has room, whatever error says so", () => {
  const made = bench();
  disk.room = 3;
  made.fail(ioWrite);
  made.write();
  expect(made.standing.trouble()?.reason).toBe("full");
  // A small write fits again, and the next turn would not.
  made.fail(null);
  made.tick();
  made.tick();
  expect(made.standing.trouble()?.reason).toBe("full");
  disk.room = 1_000;
  made.tick();
  expect(made.standing.trouble()).toBeNull();
  made.fail(ioWrite);
  made.write();
  expect(made.standing.trouble()?.reason).toBe("input-output");
  // A quota leaves room, to others.
  const quota = Object.assign(new Error("database or disk is full"), {
    code: "ERR_SQLITE_ERROR",
    errcode: 13,
  });
  expect(StoreFault.of(quota, temporaryPath())).toBe("full");
});

verifies("RUN-110", "each way in which SQLite says that another program is in the way is a lock", () => {
  for (const errcode of [5, 6, 15, 5 | (2 << 8)]) {
    const error = Object.assign(new Error("refused"), { code: "ERR_SQLITE_ERROR", errcode });
    expect(StoreFault.of(error, temporaryPath()), String(errcode)).toBe("locked");
    expect(StoreFault.isLocked(error)).toBe(true);
  }
});

const away = (path: string): void => renameSync(path, `${path}.away`);
const replaced = (path: string): void => {
  away(path);
  copyFileSync(`${path}.away`, path);
};

verifies(
  "RUN-322",
  "a file that was deleted, moved or replaced under the store ends its writes, in words, busy or idle",
  () => {
    for (const end of ["", "-wal", "-shm", ".lock"]) {
      for (const lose of [rmSync, away, replaced]) {
        for (const busy of [true, false]) {
          const made = bench();
          made.write();
          made.wait(1_000);
          lose(`${made.path}${end}`);
          if (busy) {
            const write = (): number => made.standing.db.run("DELETE FROM setting");
            expect(write).toThrow(`${basename(made.path)}${end} is not the file that was opened`);
          } else made.look();
          const { reason, explanation } = made.standing.trouble() ?? {};
          expect([reason, explanation]).toEqual(["gone", expect.stringContaining("stop the daemon")]);
          expect(() => made.standing.db.transaction(() => 1)).toThrow("stop the daemon");
          made.tick();
          made.look();
          expect(made.lines).toEqual([["the store cannot be used", "gone"]]);
          made.standing.close();
        }
      }
    }
  },
);

verifies("RUN-323", "when the file is back in its place all goes on, and it is said once", () => {
  const made = bench();
  made.look();
  away(made.path);
  made.look();
  made.tick();
  expect(made.standing.trouble()?.reason).toBe("gone");
  renameSync(`${made.path}.away`, made.path);
  made.tick();
  expect(made.standing.trouble()).toBeNull();
  made.write();
  expect(Settings.integer(made.standing.db, "router_cursor")).toBe(1);
  expect(made.lines).toEqual([
    ["the store cannot be used", "gone"],
    ["the store works again", "gone"],
  ]);
});

verifies("RUN-322", "a transaction that has begun ends as a whole", () => {
  const made = bench();
  made.standing.db.transaction(() => {
    made.wait(1_000);
    away(made.lock);
    Settings.put(made.standing.db, "router_cursor", 7);
  });
  expect(Settings.integer(made.standing.db, "router_cursor")).toBe(7);
  made.look();
  expect(made.standing.trouble()?.reason).toBe("gone");
});
