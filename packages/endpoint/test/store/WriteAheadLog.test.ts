// The write-ahead log of a store: folded into the file as it grows, whatever is open beside it.

import { statSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Database from "../../src/store/Database.ts";
import { temporaryPath, temporaryStore } from "./TemporaryStore.ts";

const megabyte = 1_048_576;
const walBytes = (path: string): number => statSync(`${path}-wal`).size;

/** Writes a megabyte, a quarter of it in each commit. */
const write = (db: Database.Database, name: string): void => {
  const put =
    "INSERT INTO setting (name, value) VALUES (?, randomblob(16384)) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
  for (let quarter = 0; quarter < 4; quarter++) {
    db.transaction(() => {
      for (let part = 0; part < 16; part++) db.run(put, `${name} ${quarter} ${part}`);
    });
  }
};

verifies("RUN-125", "the log of a store that is written to without end stays at its bound", () => {
  const path = temporaryPath();
  const db = temporaryStore(path);
  let largest = 0;
  for (let round = 0; round < 80; round++) {
    write(db, `${round % 4}`);
    largest = Math.max(largest, walBytes(path));
  }
  expect(largest).toBeLessThan(20 * megabyte);
});

verifies("RUN-125", "what a stalled reader of another process made it grow to is given back after it", () => {
  const path = temporaryPath();
  const db = temporaryStore(path);
  write(db, "first");
  const snapshot = Database.openSnapshot(path);
  for (let round = 0; round < 64; round++) write(db, `${round % 4}`);
  expect(walBytes(path), "it is kept for the reader").toBeGreaterThan(48 * megabyte);
  snapshot.close();
  for (let round = 0; round < 4; round++) write(db, `${round % 4}`);
  expect(walBytes(path)).toBeLessThanOrEqual(32 * megabyte);
});
