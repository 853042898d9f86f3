// The folder of one network: its keys, the logs of its two services, and where they were reached last. Everything in it is
// its operator's alone. Knows no service.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import process from "node:process";
import * as Schema from "effect/Schema";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import * as Invite from "@social-harness/registry/Invite";
import * as NetworkKeys from "@social-harness/registry/NetworkKeys";
import { RegistryUrl, RouterUrl } from "@social-harness/registry/NetworkUrl";
import * as Lock from "@social-harness/endpoint/state/Lock";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { failed, misused } from "../Failure.ts";
import * as Custody from "./Custody.ts";
import * as NetworkFiles from "./NetworkFiles.ts";

export const random = (byteCount: number): Uint8Array => randomBytes(byteCount);

/**
 * Takes the folder for this process: two Routers over one log would order the same lane twice. Nothing but the end of the
 * process or `release` gives it back.
 */
export const acquire = (folder: NetworkFiles.NetworkFiles): Lock.Lock => {
  try {
    return Lock.acquire(StateFolder.at(folder.path));
  } catch (error) {
    if (!(error instanceof StateError) || error.reason !== "held") throw error;
    const pid = /pid \d+/.exec(error.message)?.[0] ?? "another process";
    throw failed(
      "network-held",
      `the network in ${folder.path} is served already (${pid})`,
      "Stop that one first, or give another folder as --data.",
      error,
    );
  }
};

const Reached = Schema.Struct({ registryUrl: RegistryUrl, routerUrl: RouterUrl });
/** Where members reach the two services. */
export type Reached = typeof Reached.Type;
const decodeReached = Closed.decoder(Reached);

const explained = <A>(work: () => A): A => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof NetworkKeys.NetworkKeysError)) throw error;
    throw failed(
      `network-keys-${error.reason}`,
      `the network's keys cannot be used: ${error.message}`,
      error.reason === "exposed"
        ? "Make the file readable by its owner only (chmod 600), and ask yourself who has read it."
        : "Nothing was changed. Look at the folder given as --data.",
      error,
    );
  }
};

/** The folder and keys of a network, made at its first start. `mayBeLost`: also where its Registry's log is gone. */
export const openOrCreate = (
  path: string,
  mayBeLost: boolean,
): { folder: NetworkFiles.NetworkFiles; keys: NetworkKeys.NetworkKeys } => {
  // What is made in here later, by SQLite too, is for its owner only.
  process.umask(0o077);
  const folder = NetworkFiles.at(path);
  Custody.demandKeys(folder);
  const isNew = !existsSync(folder.keys);
  if (!isNew && !mayBeLost) Custody.demandRegistry(folder);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    // Before the keys: keys without a Registry's log then always mean that it was lost.
    if (isNew) closeSync(openSync(folder.registryLog, "a", 0o600));
  } catch (error) {
    throw failed(
      "data-unusable",
      `${path} cannot be used as a folder`,
      "Give another folder as --data.",
      error,
    );
  }
  if (isNew) StateFolder.hideFromGit(path);
  return { folder, keys: explained(() => NetworkKeys.loadOrCreate(folder.keys, random)) };
};

/** The keys of a network that exists. */
export const open = (path: string): { folder: NetworkFiles.NetworkFiles; keys: NetworkKeys.NetworkKeys } => {
  process.umask(0o077);
  const folder = NetworkFiles.at(path);
  Custody.demandKeys(folder);
  try {
    return { folder, keys: NetworkKeys.load(folder.keys) };
  } catch (error) {
    if (error instanceof NetworkKeys.NetworkKeysError && error.reason === "absent") {
      throw misused(
        `there is no network in ${path}`,
        `Give its folder as --data, or make one: \`social-harness network start --data ${path}\`.`,
      );
    }
    return explained(() => {
      throw error;
    });
  }
};

/** Written whole or not at all, so that a reader never sees half of it. */
export const writeReached = (folder: NetworkFiles.NetworkFiles, reached: Reached): void => {
  const path = folder.reached;
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, `${JSON.stringify(reached)}\n`, { mode: 0o600 });
  renameSync(fresh, path);
};

const readReached = (folder: NetworkFiles.NetworkFiles): Reached => {
  try {
    return decodeReached(JSON.parse(readFileSync(folder.reached, "utf8")));
  } catch (error) {
    const known =
      error instanceof DecodeError ||
      error instanceof SyntaxError ||
      (error instanceof Error && "code" in error);
    if (!known) throw error;
    throw failed(
      "network-never-started",
      "this network's addresses are not known yet",
      `Start it once: \`social-harness network start --data ${folder.path}\`.`,
      error,
    );
  }
};

export type Description = Invite.NetworkDescription;

export const describe = (
  { registryUrl, routerUrl }: Reached,
  keys: NetworkKeys.NetworkKeys,
): Description => ({
  registryUrl,
  routerUrl,
  registryKey: keys.registry.publicKey,
  routerKey: keys.router.publicKey,
});

/** What everybody may know about the network in `folder`. */
export const description = (folder: NetworkFiles.NetworkFiles, keys: NetworkKeys.NetworkKeys): Description =>
  describe(readReached(folder), keys);

/** The description with its invite string, which admits nobody where the network demands admission. */
export const announcement = (network: Description) => ({ ...network, invite: Invite.encode(network) });
