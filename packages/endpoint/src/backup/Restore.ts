// Makes a state folder from a backup. Its store is marked before the folder appears: what its agent signed after the backup
// is forgotten, so no conversation signs anything before its members have said where they are. Implements RUN-183 to RUN-187.

import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as LostMemory from "../conversations/LostMemory.ts";
import { boundCard } from "../operations/Registration.ts";
import * as Configuration from "../state/Configuration.ts";
import * as Identity from "../state/Identity.ts";
import { codeOf, StateError, unavailable } from "../state/StateError.ts";
import * as StateFolder from "../state/StateFolder.ts";
import * as Database from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";
import { check } from "../store/StartUpCheck.ts";
import { StoreError } from "../store/StoreError.ts";
import * as Outbox from "../transport/Outbox.ts";
import type { Manifest } from "./Manifest.ts";
import * as Manifests from "./Manifest.ts";
import * as StagedFolder from "./StagedFolder.ts";

export interface Restored {
  /** `already`: the folder is there, came from this very backup, and was left as it is. */
  readonly kind: "restored" | "already";
  readonly agentName: AgentName | null;
  readonly createdAt: string;
  /** Conversations that ask their members before they sign anything. */
  readonly conversations: number;
}

/**
 * Notes in one step that the store is an old copy: every conversation is to be told, nothing that it meant to send leaves,
 * and the backup that it came from. The Router would find it out by itself, unless its own log is lost or went back as well.
 */
export const mark = (db: Database.Database, now: number, digest: string): void =>
  db.transaction(() => {
    LostMemory.note(db, now);
    Outbox.drop(db);
    Settings.put(db, "restored_from", digest);
  });

const isEmpty = (path: string): boolean => {
  try {
    return readdirSync(path).length === 0;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    if (codeOf(error) === "ENOTDIR") return false;
    throw unavailable(`${path} cannot be read`, error);
  }
};

/** How many conversations have yet to recover in a folder that came from this backup; null for any other folder. */
const recoveringIn = ({ database }: StateFolder.StateFolder, { digest }: Manifest): number | null => {
  if (!existsSync(database)) return null;
  try {
    const db = Database.openSnapshot(database);
    try {
      return Settings.text(db, "restored_from") === digest ? LostMemory.countRecovering(db) : null;
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
};

const fill = async (staging: string, from: string, manifest: Manifest, now: number): Promise<number> => {
  const folder = StateFolder.open(staging);
  for (const { name } of manifest.files) copyFileSync(join(from, name), join(staging, name));
  await Manifests.demandFiles(staging, manifest);
  const identity = Identity.load(folder) as Identity.Identity;
  const { registryKey } = Configuration.load(folder, {});
  const db = Database.open(folder.database);
  try {
    await check(db, { verifier: Ed25519.verifier, registryKey });
    boundCard(db, identity);
    mark(db, now, manifest.digest);
    return LostMemory.countRecovering(db);
  } finally {
    db.close();
  }
};

/**
 * Makes the state folder `target` from the backup `from`. The folder must be absent or empty; one that came from the same
 * backup before is left as it is. Rejects with `StateError` or `StoreError`, and then nothing is there that was not before.
 */
export const restore = async (
  from: string,
  target: string,
  { now }: { readonly now: number },
): Promise<Restored> => {
  const manifest = await Manifests.read(resolve(from));
  const { agentName, createdAt } = manifest;
  const folder = StateFolder.at(target);
  if (!isEmpty(folder.path)) {
    const conversations = recoveringIn(folder, manifest);
    if (conversations !== null) return { kind: "already", agentName, createdAt, conversations };
    throw new StateError(
      "exists",
      `${folder.path} is not empty, and a restore overwrites nothing`,
      "give another folder, or move that one away",
    );
  }
  const conversations = await StagedFolder.publish(folder.path, (staging) =>
    fill(staging, resolve(from), manifest, now),
  );
  return { kind: "restored", agentName, createdAt, conversations };
};
