// Copies what an endpoint must not lose into a folder of its own, also while its daemon runs: the keys, what the owner
// wrote, and the store as it is at one moment, checked as a daemon would check it. Tokens stay behind, because an old copy
// would make one good again that was changed since; so does whatever a start makes anew. Implements RUN-180 to RUN-182.

import { backup, DatabaseSync } from "node:sqlite";
import { closeSync, existsSync, lstatSync, openSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import type { Trust } from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { timestampOf } from "@social-harness/registry/Timestamp";
import { boundCard } from "../operations/Registration.ts";
import * as Configuration from "../state/Configuration.ts";
import * as Identity from "../state/Identity.ts";
import * as PrivateFile from "../state/PrivateFile.ts";
import { StateError } from "../state/StateError.ts";
import { at, hideFromGit, type StateFolder } from "../state/StateFolder.ts";
import * as Database from "../store/Database.ts";
import { check } from "../store/StartUpCheck.ts";
import { StoreError } from "../store/StoreError.ts";
import * as StoreFile from "../store/StoreFile.ts";
import { version } from "../Version.ts";
import * as Manifest from "./Manifest.ts";
import * as StagedFolder from "./StagedFolder.ts";

/** More than any of the small files may have. */
const smallBytesMax = 1_048_576;

/** Its whole content in one step: a copy in pieces begins anew with every commit of the daemon. */
const pagesPerStep = 2_147_483_647;

const copyStore = async (from: string, to: string): Promise<void> => {
  closeSync(openSync(to, "wx", 0o600));
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5_000 });
    try {
      await backup(source, to, { rate: pagesPerStep });
    } finally {
      source.close();
    }
  } catch (error) {
    throw Database.explained(error);
  }
};

/** One file without a journal beside it, which can be read where nothing can be written. */
const settle = (path: string): void => {
  const sqlite = new DatabaseSync(path);
  try {
    sqlite.exec("PRAGMA journal_mode = DELETE");
  } catch (error) {
    throw Database.explained(error);
  } finally {
    sqlite.close();
  }
};

interface Owner {
  readonly identity: Identity.Identity;
  readonly trust: Trust;
}

/** Whose the folder is. Asked of the original, so that what is wrong with it is said of it. */
const ownerOf = (folder: StateFolder): Owner => {
  StoreFile.demandWhole(folder.database);
  for (const path of [folder.identity, folder.configuration, folder.database]) {
    if (existsSync(path)) continue;
    throw new StateError(
      "missing",
      `there is no ${path}, and only an endpoint that has joined a network can be backed up`,
      "give the --state of one that has, or join first",
    );
  }
  const identity = Identity.load(folder) as Identity.Identity;
  const { registryKey } = Configuration.load(folder, {});
  return { identity, trust: { verifier: Ed25519.verifier, registryKey } };
};

/** `join` writes its file first and asks through the store then: without a row there, this is not the store that asked. */
const demandAsking = (db: Database.Database): void => {
  if (db.get("SELECT 1 FROM registration") !== undefined) return;
  throw new StoreError(
    "corrupt",
    "registration.json says that an agent was asked for from here, and the store knows of none",
    "run the same `social-harness join` again, which ends what was begun, or restore an earlier backup if this agent has talked before",
  );
};

/** What a daemon would make of the copy: every row of it, and that it is of these keys. */
const checkCopy = async (
  path: string,
  { identity, trust }: Owner,
  isAskedFor: boolean,
): Promise<Manifest.Manifest["agentName"]> => {
  const db = Database.open(path);
  try {
    await check(db, trust);
    const card = boundCard(db, identity);
    if (card === null && isAskedFor) demandAsking(db);
    return card?.agentName ?? null;
  } finally {
    db.close();
  }
};

/** A path that cannot be looked at cannot be written either, and the writing says why. */
const isTaken = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** Whoever loses or deletes the folder would lose such a backup with it. */
const demandOutside = (target: string, { path }: StateFolder): void => {
  if (!`${StagedFolder.realOf(target)}${sep}`.startsWith(`${StagedFolder.realOf(path)}${sep}`)) return;
  throw new StateError(
    "not-allowed",
    `${target} is inside the state folder, and would be lost with it`,
    "give a folder elsewhere, best on another disk",
  );
};

/**
 * Writes the backup of a state folder to `path`, where nothing may be. Rejects with `StateError`, `StoreError` or
 * `ConfigurationError`, and then there is nothing under that name.
 */
export const write = async (
  folder: StateFolder,
  path: string,
  { now }: { readonly now: number },
): Promise<Manifest.Manifest> => {
  const target = resolve(path);
  if (isTaken(target)) {
    throw new StateError(
      "exists",
      `${target} is there already, and a backup replaces nothing`,
      "give another folder",
    );
  }
  demandOutside(target, folder);
  const owner = ownerOf(folder);
  return StagedFolder.publish(target, async (staging) => {
    const copy = at(staging);
    hideFromGit(staging);
    const names: Array<Manifest.FileName> = [];
    for (const name of Manifest.fileNames) {
      const from = join(folder.path, name);
      if (name === "endpoint.sqlite") await copyStore(from, copy.database);
      else {
        const text = PrivateFile.read(from, smallBytesMax);
        if (text === null) continue;
        PrivateFile.createOnce(join(staging, name), text);
      }
      names.push(name);
    }
    const agentName = await checkCopy(copy.database, owner, names.includes("registration.json"));
    settle(copy.database);
    const files: Array<Manifest.File> = [];
    for (const name of names) files.push(await Manifest.describe(staging, name));
    Manifest.write(staging, { program: version, createdAt: timestampOf(now), agentName, files });
    return Manifest.read(staging);
  });
};
