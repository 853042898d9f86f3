// What is left of a log whose file is gone, or was cut off, is no new log.

import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf } from "./suite.ts";
import { temporaryFolder } from "./TemporaryFolder.ts";

const folder = temporaryFolder();
let files = 0;
const newPath = (): string => join(folder, `log-${++files}.sqlite`);

const bytesAt = (path: string): Buffer | null => (existsSync(path) ? readFileSync(path) : null);
const filesOf = (path: string): ReadonlyArray<Buffer | null> =>
  ["", "-wal", "-journal", "-shm"].map((end) => bytesAt(`${path}${end}`));

const expectRefused = (path: string, words: string): void => {
  const before = filesOf(path);
  expect(() => openSqliteLog(path)).toThrow(
    expect.objectContaining({
      name: "LogError",
      reason: "damaged",
      message: expect.stringContaining(words) as unknown,
    }),
  );
  expect(filesOf(path)).toEqual(before);
};

verifies(
  "RUN-324",
  "C51 a log whose file is lost, empty or cut off beside its write-ahead log is refused, and no byte of it moves",
  async () => {
    const path = newPath();
    const log = openSqliteLog(path);
    await log.append("s", bytesOf("one"));
    for (const [length, how] of [
      [null, "missing"],
      [0, "empty"],
      [1, "cut off"],
      [100, "cut off"],
    ] as const) {
      const killed = newPath();
      copyFileSync(`${path}-wal`, `${killed}-wal`);
      if (length !== null) {
        copyFileSync(path, killed);
        truncateSync(killed, length);
      }
      expectRefused(killed, `is ${how}, but`);
    }
    await log.close();
  },
);

verifies(
  "RUN-324",
  "nor is a journal of a full file deleted, and a file of one byte is no new log; a journal of a first start is",
  async () => {
    const path = newPath();
    const journal = Buffer.alloc(512);
    journal.writeUInt32BE(7, 16);
    writeFileSync(path, "");
    writeFileSync(`${path}-journal`, journal);
    expectRefused(path, "-journal beside it holds what was written to it");
    writeFileSync(`${path}-journal`, Buffer.alloc(512));
    await openSqliteLog(path).close();
    const short = newPath();
    writeFileSync(short, "S");
    expectRefused(short, "is cut off: keep");
  },
);
