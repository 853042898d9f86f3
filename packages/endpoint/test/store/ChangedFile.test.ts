import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { alter } from "./TemporaryStore.ts";
import { addresses, readAll, refusalOf, useWrittenStore } from "./WrittenStore.ts";

const store = useWrittenStore();

/** Offsets drawn from a seed, so that a failure can be run again. */
const offsetsOf = (seed: string, count: number, below: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, i) => {
    const digest = createHash("sha256").update(`${seed} ${i}`).digest();
    return digest.readUInt32BE() % below;
  });

const flip = (path: string, offset: number): void => {
  const bytes = readFileSync(path);
  bytes[offset] = (bytes[offset] as number) ^ (1 << (offset % 8));
  writeFileSync(path, bytes);
};

/** Every place of the file where these bytes stand. */
const placesOf = (path: string, text: string): ReadonlyArray<number> => {
  const file = readFileSync(path);
  const places: Array<number> = [];
  for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) places.push(at);
  return places;
};

const readsOf = async (path: string): Promise<ReadonlyArray<unknown> | "unopened"> => {
  let db: Database.Database;
  try {
    db = Database.open(path);
  } catch (error) {
    expect(error).toBeInstanceOf(StoreError);
    return "unopened";
  }
  try {
    const reads: Array<unknown> = [];
    for (const address of addresses) reads.push(await readAll(db, store.trust, address));
    return reads;
  } finally {
    db.close();
  }
};

verifies(
  ["HIS-65", "RUN-54", "MGT-49"],
  "C51 a flipped bit anywhere in the file is refused in words, or lies where it changes no history",
  async () => {
    const size = readFileSync(store.copy()).byteLength;
    const expected = addresses.map((address) => store.histories.get(address));
    let refused = 0;
    for (const offset of offsetsOf("anywhere", 50, size)) {
      const path = store.copy();
      flip(path, offset);
      const changed = readFileSync(path);
      const refusal = await refusalOf(path, store.trust);
      if (refusal !== null) {
        refused++;
        expect(refusal.message.length, `offset ${offset}`).toBeGreaterThan(40);
        expect(readFileSync(path).equals(changed), `offset ${offset}`).toBe(true);
      }
      const reads = await readsOf(path);
      if (reads === "unopened") continue;
      for (const [i, read] of reads.entries()) {
        if (read !== "persistence-failed") expect(read, `offset ${offset}`).toEqual(expected[i]);
        else expect(refusal, `offset ${offset}`).not.toBeNull();
      }
    }
    expect(refused).toBeGreaterThan(0);
  },
);

verifies("HIS-65", "an index that leads elsewhere is refused at start-up, whichever it is", async () => {
  const namesOf = (path: string): ReadonlyArray<string> => {
    let names: ReadonlyArray<string> = [];
    alter(path, (sqlite) => {
      const indexes = sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name");
      names = indexes.all().map(({ name }) => String(name));
    });
    return names;
  };
  const names = namesOf(store.copy());
  expect(names.length).toBeGreaterThan(10);
  for (const [i, name] of names.entries()) {
    const other = names[(i + 1) % names.length] as string;
    const path = store.copy();
    alter(path, (sqlite) => {
      // Their tables and their words stay what they were.
      sqlite.enableDefensive(false);
      sqlite.exec("PRAGMA writable_schema = ON");
      sqlite
        .prepare(
          "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = ?) WHERE name = ?",
        )
        .run(other, name);
    });
    expect((await refusalOf(path, store.trust))?.reason, name).toBe("corrupt");
  }
});

verifies(
  ["HIS-65", "MGT-49"],
  "a flipped bit inside a record or its evidence is refused at start-up and by the read, wherever SQLite keeps it",
  async () => {
    const [, record] = store.histories.get(addresses[1]) ?? [];
    if (record === undefined) throw new Error("the group has no second record");
    const { actionSignatures, recordCore, recordHash } = record;
    const texts = [
      recordHash,
      recordCore.action.postIntent.postId,
      recordCore.anchorHash,
      actionSignatures[0]?.signature as string,
      "group one",
      "durabilityVotes",
    ];
    for (const text of texts) {
      const places = placesOf(store.copy(), text);
      expect(places.length, text).toBeGreaterThan(0);
      let seen = 0;
      for (const place of places) {
        const path = store.copy();
        flip(path, place + (text.length >> 1));
        const refusal = await refusalOf(path, store.trust);
        const reads = await readsOf(path);
        // The same text also stands where it is no history: in items, votes, envelopes and pages given back.
        if (refusal === null) expect(reads).toEqual(addresses.map((address) => store.histories.get(address)));
        else seen++;
      }
      expect(seen, text).toBeGreaterThan(0);
    }
  },
);
