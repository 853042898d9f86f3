// Backups that nobody wrote: whole by their own account, and of something that no daemon would start on.

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Backup from "../../src/backup/Backup.ts";
import * as Manifest from "../../src/backup/Manifest.ts";
import * as Restore from "../../src/backup/Restore.ts";
import * as PrivateFile from "../../src/state/PrivateFile.ts";
import * as Database from "../../src/store/Database.ts";
import { alter } from "../store/TemporaryStore.ts";
import { useWrittenStore } from "../store/WrittenStore.ts";
import { filesIn, writtenFolder } from "./WrittenFolder.ts";

const store = useWrittenStore();

/** A backup, changed by `change`, under a manifest that fits what is in it then. */
const crafted = async (
  change: (folder: string) => void,
  named = (names: ReadonlyArray<Manifest.FileName>): ReadonlyArray<Manifest.FileName> => names,
): Promise<string> => {
  const folder = writtenFolder(store);
  const backup = join(dirname(folder.path), "backup");
  const { program, createdAt, agentName, files } = await Backup.write(folder, backup, { now: 0 });
  change(backup);
  rmSync(join(backup, "backup.json"));
  const described: Array<Manifest.File> = [];
  for (const name of named(files.map(({ name: one }) => one)))
    described.push(await Manifest.describe(backup, name));
  Manifest.write(backup, { program, createdAt, agentName, files: described });
  return backup;
};

/** It is refused with these words, left as it is, and nothing is made from it. */
const expectRefused = async (backup: string, reason: string, words: string): Promise<void> => {
  const around = dirname(backup);
  const before = filesIn(around);
  await expect(Restore.restore(backup, join(around, "target"), { now: 0 })).rejects.toMatchObject({
    reason,
    message: expect.stringContaining(words) as unknown,
  });
  expect(filesIn(around)).toEqual(before);
  expect(readdirSync(around).toSorted()).toEqual(["backup", "state"]);
};

verifies("RUN-328", "a restore checks the store as a start does", async () => {
  const changed = await crafted((folder) =>
    alter(join(folder, "endpoint.sqlite"), (sqlite) =>
      sqlite.exec("UPDATE record SET core = replace(core, 'one', 'two') WHERE sequence = 1"),
    ),
  );
  await expectRefused(changed, "corrupt", "restore it from a backup");
  expect((await Restore.restore(await crafted(() => undefined), `${changed}-made`, { now: 0 })).kind).toBe(
    "restored",
  );
});

verifies("RUN-328", "and that it is of the keys beside it", async () => {
  const exchanged = await crafted((folder) => {
    const path = join(folder, "identity.json");
    const keys = readFileSync(path, "utf8");
    writeFileSync(path, keys.replace(/("signingSeed":")../, "$1AA"));
  });
  await expectRefused(exchanged, "corrupt", "the store belongs to ann");
});

verifies("RUN-183", "each file that others may read is refused, whatever is in it", async () => {
  const backup = await crafted(() => undefined);
  for (const name of ["backup.json", "identity.json", "config.json", "firewall.json", "endpoint.sqlite"]) {
    chmodSync(join(backup, name), 0o640);
    await expectRefused(backup, "permissions", `${name} has mode 0640`);
    chmodSync(join(backup, name), 0o600);
  }
});

verifies(
  "RUN-183",
  "a backup that names a file twice, or leaves out one of the first three, is damaged",
  async () => {
    const twice = await crafted(
      () => undefined,
      (names) => [...names, "config.json"],
    );
    await expectRefused(twice, "malformed", "is damaged (backup.json)");
    for (const missing of ["identity.json", "config.json", "endpoint.sqlite"]) {
      const backup = await crafted(
        () => undefined,
        (names) => names.filter((name) => name !== missing),
      );
      await expectRefused(backup, "malformed", "is damaged (backup.json)");
    }
  },
);

verifies(
  "RUN-325",
  "a store that knows no agent although one was asked for from its folder is no backup of that agent",
  async () => {
    const folder = writtenFolder(store);
    const target = join(dirname(folder.path), "copy");
    PrivateFile.createOnce(join(folder.path, "registration.json"), "{}");
    await Backup.write(folder, `${target}-whole`, { now: 0 });
    rmSync(folder.database);
    Database.open(folder.database).close();
    await expect(Backup.write(folder, target, { now: 0 })).rejects.toMatchObject({
      reason: "corrupt",
      message: expect.stringContaining("the store knows of none") as unknown,
    });
    expect(existsSync(target)).toBe(false);
    // Its ids are written down before the Registry is asked: an answer that was lost is no lost store.
    const db = Database.open(folder.database);
    db.run(
      "INSERT INTO registration (one, operation_id, principal_id, agent_name) VALUES (1, 'o', 'p', 'ann')",
    );
    db.close();
    expect((await Backup.write(folder, target, { now: 0 })).agentName).toBeNull();
  },
);

verifies("RUN-325", "an endpoint that has asked for no agent yet is backed up as that", async () => {
  const folder = writtenFolder(store);
  const target = join(dirname(folder.path), "copy");
  rmSync(folder.database);
  Database.open(folder.database).close();
  expect((await Backup.write(folder, target, { now: 0 })).agentName).toBeNull();
});
