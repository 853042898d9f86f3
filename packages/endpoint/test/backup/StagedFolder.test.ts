// That a folder gets its name when everything in it is on the disk, and that its name is there too before anybody hears of it;
// and that what was copied is looked at where it stands now.

import type * as Fs from "node:fs";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, vi } from "vitest";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Backup from "../../src/backup/Backup.ts";
import * as Restore from "../../src/backup/Restore.ts";
import * as StagedFolder from "../../src/backup/StagedFolder.ts";
import { useWrittenStore } from "../store/WrittenStore.ts";
import { filesIn, writtenFolder } from "./WrittenFolder.ts";

/** What was asked of the disk, in order, and what it does wrong. */
const disk = vi.hoisted(() => ({
  paths: new Map<number, string>(),
  calls: [] as Array<readonly [call: "sync" | "rename", path: string]>,
  changesCopyOf: null as string | null,
}));
vi.mock("node:fs", async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const openSync: typeof fs.openSync = (path, ...rest) => {
    const descriptor = fs.openSync(path, ...rest);
    disk.paths.set(descriptor, String(path));
    return descriptor;
  };
  const fsyncSync: typeof fs.fsyncSync = (descriptor) => {
    disk.calls.push(["sync", disk.paths.get(descriptor) ?? "?"]);
    fs.fsyncSync(descriptor);
  };
  const renameSync: typeof fs.renameSync = (from, to) => {
    disk.calls.push(["rename", String(to)]);
    fs.renameSync(from, to);
  };
  const copyFileSync: typeof fs.copyFileSync = (from, to, mode) => {
    fs.copyFileSync(from, to, mode);
    if (disk.changesCopyOf !== null && String(to).endsWith(disk.changesCopyOf)) fs.appendFileSync(to, " ");
  };
  return { ...fs, openSync, fsyncSync, renameSync, copyFileSync };
});

const store = useWrittenStore();

verifies(
  "RUN-327",
  "every file and folder is synced before the rename, and the folder around after it",
  async () => {
    const around = temporaryFolder();
    const target = join(around, "made");
    disk.calls.length = 0;
    let staging = "";
    await StagedFolder.publish(target, async (folder) => {
      staging = folder;
      writeFileSync(join(folder, "one"), "1");
      mkdirSync(join(folder, "inner"));
      writeFileSync(join(folder, "inner", "two"), "2");
    });
    const renamed = disk.calls.findIndex(([call]) => call === "rename");
    const before = disk.calls.slice(0, renamed).map(([, path]) => relative(staging, path));
    expect(before.toSorted()).toEqual(["", "inner", "inner/two", "one"]);
    // A folder's names are synced when all of them are there.
    expect(before.at(-1)).toBe("");
    expect(before.indexOf("inner")).toBeGreaterThan(before.indexOf("inner/two"));
    expect(disk.calls.slice(renamed)).toEqual([
      ["rename", target],
      ["sync", around],
    ]);
  },
);

verifies("RUN-328", "a file that became another one on the way is not restored", async () => {
  const folder = writtenFolder(store);
  const around = dirname(folder.path);
  const backup = join(around, "backup");
  await Backup.write(folder, backup, { now: 0 });
  for (const name of ["firewall.json", "config.json", "endpoint.sqlite"]) {
    disk.changesCopyOf = name;
    const before = filesIn(around);
    await expect(Restore.restore(backup, join(around, "target"), { now: 0 })).rejects.toMatchObject({
      reason: "malformed",
      message: expect.stringContaining(`is damaged (${name})`) as unknown,
    });
    expect(filesIn(around)).toEqual(before);
  }
  disk.changesCopyOf = null;
  expect((await Restore.restore(backup, join(around, "target"), { now: 0 })).kind).toBe("restored");
});
