// What is left of a store whose file is gone: nothing that opens a store makes, changes or deletes anything there.

import { copyFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Backup from "../../src/backup/Backup.ts";
import * as Database from "../../src/store/Database.ts";
import { checkEverything } from "../../src/store/FullCheck.ts";
import * as Identity from "../../src/state/Identity.ts";
import * as Sample from "../../src/store/Sample.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import { filesIn, writtenFolder } from "../backup/WrittenFolder.ts";
import { alter, temporaryPath } from "./TemporaryStore.ts";
import { useWrittenStore } from "./WrittenStore.ts";

const store = useWrittenStore();

/** The folder of a daemon that was killed: what was written last stands in the write-ahead log alone. */
const killedFolder = (): StateFolder.StateFolder => {
  const folder = writtenFolder(store);
  alter(store.copy(), (sqlite) => {
    sqlite.exec("PRAGMA journal_mode = WAL; INSERT INTO setting (name, value) VALUES ('late', x'01')");
    const path = String(sqlite.location());
    copyFileSync(path, folder.database);
    copyFileSync(`${path}-wal`, `${folder.database}-wal`);
  });
  return folder;
};

/** A rollback journal of a file that had so many pages before. */
const journalOf = (pages: number): Buffer => {
  const journal = Buffer.alloc(512);
  Buffer.from("d9d505f920a163d7", "hex").copy(journal);
  journal.writeUInt32BE(pages, 16);
  return journal;
};

const losses: ReadonlyArray<readonly [how: string, lose: (path: string) => void]> = [
  ["missing", (path) => rmSync(path)],
  ["empty", (path) => truncateSync(path, 0)],
  ["cut off", (path) => truncateSync(path, 1)],
  ["cut off", (path) => truncateSync(path, 100)],
];

const openings: Readonly<Record<string, (folder: StateFolder.StateFolder) => unknown>> = {
  "a daemon": ({ path }) => StateFolder.open(path),
  "a store": ({ database }) => Database.open(database),
  "a snapshot": ({ database }) => Database.openSnapshot(database),
  doctor: (folder) => Sample.take(folder.database, Identity.load(folder) as Identity.Identity),
  verify: ({ database }) => checkEverything(database, store.trust),
};

const refusal = async (work: () => unknown): Promise<StoreError> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("it was opened");
};

const expectRefused = async (folder: StateFolder.StateFolder, words: string): Promise<void> => {
  const before = filesIn(dirname(folder.path));
  for (const [who, open] of Object.entries(openings)) {
    const { reason, message } = await refusal(() => open(folder));
    expect([who, reason, message]).toEqual([who, "corrupt", expect.stringContaining(words)]);
    expect(message).toContain("nothing has been changed or deleted");
    expect(filesIn(dirname(folder.path)), who).toEqual(before);
  }
};

verifies(
  "RUN-320",
  "C51 a write-ahead log beside a lost or cut-off file is never deleted, whatever opens the store",
  async () => {
    for (const [how, lose] of losses) {
      const folder = killedFolder();
      lose(folder.database);
      const words = `endpoint.sqlite is ${how}, but endpoint.sqlite-wal beside it holds what was written to it`;
      await expectRefused(folder, words);
      const before = filesIn(dirname(folder.path));
      const backup = () => Backup.write(folder, join(dirname(folder.path), "copy"), { now: 0 });
      expect((await refusal(backup)).message).toContain(words);
      expect(filesIn(dirname(folder.path))).toEqual(before);
    }
  },
);

verifies(
  "RUN-320",
  "nor is a journal of a file that had something in it, but one of a first start is its own",
  async () => {
    const folder = writtenFolder(store);
    const journal = `${folder.database}-journal`;
    truncateSync(folder.database, 0);
    writeFileSync(journal, journalOf(3));
    await expectRefused(folder, "endpoint.sqlite is empty, but endpoint.sqlite-journal beside it holds");
    writeFileSync(journal, journalOf(0));
    Database.open(folder.database).close();
  },
);

verifies("RUN-320", "a file too short for a database is no new one, and is left as it is", async () => {
  const folder = writtenFolder(store);
  writeFileSync(folder.database, "S");
  await expectRefused(folder, "endpoint.sqlite is cut off: keep the folder as it is");
  const path = temporaryPath();
  writeFileSync(path, "");
  Database.open(path).close();
});
