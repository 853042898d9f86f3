import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { openSqliteLog, type SqliteLog } from "../src/SqliteLog.ts";
import { temporaryFolder } from "./TemporaryFolder.ts";

const root = temporaryFolder();
const bytes = Buffer.from("entry");

/** How an append and a look at the tail end. */
const outcomesOf = async (log: SqliteLog): Promise<ReadonlyArray<string>> => {
  const ends = await Promise.allSettled([log.append("s", bytes), log.tail("s")]);
  return ends.map((end) => (end.status === "fulfilled" ? "well" : (end.reason as { reason: string }).reason));
};

const ways: Readonly<Record<string, (path: string) => void>> = {
  moved: (path) => renameSync(path, `${path}.away`),
  deleted: (path) => {
    copyFileSync(path, `${path}.copy`);
    rmSync(path);
  },
  replaced: (path) => {
    renameSync(path, `${path}.away`);
    copyFileSync(`${path}.away`, path);
  },
};

verifies(
  "RUN-335",
  "a log whose file was deleted, moved or replaced under it appends nothing more, and what can be read is read",
  async () => {
    const cases = Object.entries(ways).flatMap(([how, away]) =>
      ["", "-wal", "-shm"].map((suffix) => ({ name: `${how} ${suffix}`, away, suffix })),
    );
    const one = async ({ name, away, suffix }: (typeof cases)[number]): Promise<void> => {
      const path = join(root, `${name}.sqlite`);
      const log = openSqliteLog(path);
      await log.append("s", bytes);
      away(`${path}${suffix}`);
      await expect.poll(() => outcomesOf(log), { timeout: 20_000 }).toEqual(["gone", "gone"]);
      const kept = await log.read("s", 1);
      expect(kept.length, name).toBeGreaterThanOrEqual(1);
      if (existsSync(`${path}${suffix}.away`)) {
        renameSync(`${path}${suffix}.away`, `${path}${suffix}`);
        await expect.poll(() => outcomesOf(log), { timeout: 20_000 }).toEqual(["well", "well"]);
        expect((await log.read("s", 1)).length, name).toBeGreaterThan(kept.length);
      }
      await log.close();
    };
    await Promise.all(cases.map(one));
  },
  60_000,
);

verifies("RUN-335", "a log in memory has no file that could go", async () => {
  const log = openSqliteLog(":memory:");
  expect(await outcomesOf(log)).toEqual(["well", "well"]);
  await log.close();
});
