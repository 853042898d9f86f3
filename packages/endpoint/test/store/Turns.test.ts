import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import type { Database } from "../../src/store/Database.ts";
import * as Settings from "../../src/store/Settings.ts";
import * as Turns from "../../src/store/Turns.ts";
import { temporaryStore } from "./TemporaryStore.ts";

type Notes = ReadonlyArray<string>;

interface Bench {
  readonly db: Database;
  readonly turns: Turns.Turns<Notes>;
  /** What each commit published. */
  readonly published: Array<Notes>;
  /** Runs before each flush; throws when a test wants the commit to fail. */
  beforeCommit: (turn: Turns.Turn<Notes>) => void;
}

const bench = (db = temporaryStore()): Bench => {
  const published: Array<Notes> = [];
  const made: Bench = {
    db,
    published,
    beforeCommit: () => undefined,
    turns: Turns.create<Notes>(db, () => 1_000, {
      initial: [],
      flush: (turn) => made.beforeCommit(turn),
      committed: ({ state }) => void published.push(state),
    }),
  };
  return made;
};

const note =
  (name: string) =>
  (turn: Turns.Turn<Notes>): string => {
    turn.db.run("INSERT INTO setting (name, value) VALUES (?, x'01')", name);
    turn.state = [...turn.state, name];
    return name;
  };

const stored = (db: Database): Notes =>
  db.all("SELECT name FROM setting ORDER BY name").map((row) => row["name"] as string);

verifies("RUN-50", "work that is queued together shares one transaction, in its order", async () => {
  const { db, turns, published } = bench();
  const results = await Promise.all(["a", "b", "c"].map((name) => turns.run(note(name))));
  expect(results).toEqual(["a", "b", "c"]);
  expect(published).toEqual([["a", "b", "c"]]);
  expect(stored(db)).toEqual(["a", "b", "c"]);
});

verifies("RUN-50", "nothing is promised before the commit", async () => {
  const made = bench();
  const seen: Array<string> = [];
  made.beforeCommit = () => void seen.push("flushed");
  const done = made.turns.run(note("a")).then(() => seen.push("promised"));
  expect(seen).toEqual([]);
  await done;
  expect(seen).toEqual(["flushed", "promised"]);
});

verifies(
  "RUN-50",
  "work that nobody waits for shares the next turn, and gets one of its own when none comes",
  async () => {
    const { turns, published } = bench();
    const patient = turns.run(note("patient"), "soon");
    await Promise.all([turns.run(note("urgent")), patient]);
    expect(published).toEqual([["patient", "urgent"]]);
    await turns.run(note("alone"), "soon");
    expect(published[1]).toEqual(["alone"]);
  },
);

verifies("RUN-51", "work that throws is undone alone, with its part of the state", async () => {
  const { db, turns, published } = bench();
  const failing = turns.run((turn) => {
    note("b")(turn);
    throw new Error("in vain");
  });
  const [first, second, third] = await Promise.allSettled([
    turns.run(note("a")),
    failing,
    turns.run(note("c")),
  ]);
  // The failing one was queued first: order is that of the queue, not of this array.
  expect([first?.status, second?.status, third?.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(stored(db)).toEqual(["a", "c"]);
  expect(published).toEqual([["a", "c"]]);
});

verifies("RUN-51", "a broken constraint costs its own work only", async () => {
  const { db, turns } = bench();
  const settled = await Promise.allSettled(["a", "a", "b"].map((name) => turns.run(note(name))));
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(stored(db)).toEqual(["a", "b"]);
});

verifies(
  "RUN-52",
  "a commit that fails rejects everything in it and leaves disk and memory as before",
  async () => {
    const made = bench();
    await made.turns.run(note("kept"));
    made.beforeCommit = () => {
      throw new Error("no room");
    };
    const settled = await Promise.allSettled(["a", "b"].map((name) => made.turns.run(note(name))));
    expect(settled.map((one) => (one.status === "rejected" ? String(one.reason) : one.status))).toEqual([
      "Error: no room",
      "Error: no room",
    ]);
    expect(stored(made.db)).toEqual(["kept"]);
    expect(made.published).toEqual([["kept"]]);
    made.beforeCommit = () => undefined;
    await made.turns.run(note("later"));
    expect(stored(made.db)).toEqual(["kept", "later"]);
  },
);

verifies(
  "RUN-52",
  "a disk that is full in the middle of a turn writes nothing of it, not even the flush",
  async () => {
    const made = bench();
    await made.turns.run(note("kept"));
    made.beforeCommit = ({ db }) => Settings.put(db, "router_cursor", 7);
    const pages = Number(made.db.get("PRAGMA page_count")?.["page_count"]);
    made.db.get(`PRAGMA max_page_count = ${pages + 2}`);
    const filling = made.turns.run(({ db }) =>
      db.run("INSERT INTO setting (name, value) VALUES ('large', zeroblob(1000000))"),
    );
    const settled = await Promise.allSettled([made.turns.run(note("a")), filling, made.turns.run(note("b"))]);
    const names = stored(made.db);
    const cursor = Settings.integer(made.db, "router_cursor");
    // SQLite may give up the large row alone or the whole transaction; what was promised and what stands must agree.
    const promised = settled.flatMap((one, i) =>
      one.status === "fulfilled" ? [["a", "large", "b"][i] as string] : [],
    );
    expect(settled[1]?.status).toBe("rejected");
    expect(names.filter((name) => name !== "kept" && name !== "router_cursor")).toEqual(promised);
    expect(cursor).toBe(promised.length === 0 ? 0 : 7);
    made.db.get("PRAGMA max_page_count = 1000000");
    await made.turns.run(note("later"));
    expect(stored(made.db)).toContain("later");
  },
);

verifies("RUN-52", "a transaction that SQLite gave up by itself rejects the whole turn", async () => {
  const made = bench();
  made.beforeCommit = ({ db }) => Settings.put(db, "router_cursor", 7);
  const giveUp = made.turns.run(({ db }) => {
    note("a")({ db, now: 0, state: [] });
    db.run("ROLLBACK");
    throw new Error("disk I/O error");
  });
  const settled = await Promise.allSettled([giveUp, made.turns.run(note("b"))]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(stored(made.db)).toEqual([]);
  expect(made.published).toEqual([]);
});

verifies("RUN-50", "closing commits what is queued and refuses what comes after", async () => {
  const { db, turns } = bench();
  const queued = [turns.run(note("a"), "soon"), turns.run(note("b"), "soon")];
  await turns.close();
  expect(await Promise.all(queued)).toEqual(["a", "b"]);
  expect(stored(db)).toEqual(["a", "b"]);
  await expect(turns.run(note("c"))).rejects.toThrow("closing");
  await turns.close();
});

verifies("RUN-50", "a flood of work is committed in order, many to a turn", async () => {
  const { db, turns, published } = bench();
  const names = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(4, "0"));
  await Promise.all(names.map((name) => turns.run(note(name))));
  expect(stored(db)).toEqual(names);
  expect(published.flat()).toEqual(names);
  expect(published.length).toBeLessThan(20);
});

/** What SQLite throws where another program holds the store. */
const busy = (): Error =>
  Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: 5 });

verifies("RUN-114", "work waits for a foreign lock and keeps its order", async () => {
  const store = temporaryStore();
  let looks = 0;
  const made = bench({
    ...store,
    transaction: (body) => {
      if (!store.inTransaction() && ++looks < 3) throw busy();
      return store.transaction(body);
    },
  });
  const first = made.turns.run(note("a"));
  const second = made.turns.run(note("b"), "soon");
  await first;
  await made.turns.run(note("c"));
  await second;
  expect(made.published.flat()).toEqual(["a", "b", "c"]);
  // More than one turn takes.
  looks = 0;
  const names = Array.from({ length: 300 }, (_, number) => `more ${number}`);
  await Promise.all(names.map((name) => made.turns.run(note(name))));
  expect(made.published.flat().slice(3)).toEqual(names);
});

verifies("RUN-114", "a lock that lasts rejects what waits, and soon once the endpoint closes", async () => {
  const store = temporaryStore();
  let looks = 0;
  const made = bench({
    ...store,
    transaction: () => {
      looks++;
      throw busy();
    },
  });
  const waiting = made.turns.run(note("a"));
  const refused = expect(waiting).rejects.toThrow("locked");
  await made.turns.close();
  await refused;
  expect(looks).toBeGreaterThan(1);
  expect(made.published).toEqual([]);
});

verifies(
  ["RUN-110", "RUN-52"],
  "what is committed is answered although the next look at the store fails",
  async () => {
    const store = temporaryStore();
    const turns = Turns.create<Notes>(store, () => 1_000, {
      initial: [],
      flush: () => undefined,
      committed: () => {
        throw busy();
      },
    });
    expect(await turns.run(note("a"))).toBe("a");
    expect(stored(store)).toEqual(["a"]);
  },
);
