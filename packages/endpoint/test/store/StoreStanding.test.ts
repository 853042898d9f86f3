import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Settings from "../../src/store/Settings.ts";
import * as StoreStanding from "../../src/store/StoreStanding.ts";
import { temporaryPath, temporaryStore } from "./TemporaryStore.ts";

/** A store whose failures, time and timers are the test's. */
const bench = () => {
  const path = temporaryPath();
  const store = temporaryStore(path);
  let failure: Error | null = null;
  let now = 1_000_000;
  const timers: Array<() => void> = [];
  const lines: Array<readonly [event: string, reason: unknown]> = [];
  const failing = <A>(work: () => A): A => {
    if (failure !== null) throw failure;
    return work();
  };
  const standing = StoreStanding.create({
    db: {
      ...store,
      get: (sql, ...values) => failing(() => store.get(sql, ...values)),
      run: (sql, ...values) => failing(() => store.run(sql, ...values)),
      transaction: (body) => failing(() => store.transaction(body)),
    },
    path,
    clock: () => now,
    schedule: (_delayMs, fire) => {
      timers.push(fire);
      return () => void timers.splice(timers.indexOf(fire), 1);
    },
    logger: (_level, event, fields) => lines.push([event, fields?.["reason"]]),
  });
  return {
    standing,
    timers,
    lines,
    fail: (code: number | null) => {
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
    made.tick();
  }
  expect(made.lines).toHaveLength(2);
  made.wait(120_000);
  made.fail(full);
  made.write();
  expect(made.lines).toHaveLength(3);
});

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

verifies("RUN-111", "a page that could not be read is read again until it can be", () => {
  const made = bench();
  made.fail(corrupt);
  expect(() => made.standing.db.get("SELECT 1 AS one")).toThrow();
  made.tick();
  made.tick();
  expect(made.standing.trouble()?.reason).toBe("damaged");
  made.fail(null);
  made.tick();
  expect(made.standing.trouble()).toBeNull();
  expect(made.lines).toHaveLength(2);
});

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
  expect(made.lines).toHaveLength(1);
});
