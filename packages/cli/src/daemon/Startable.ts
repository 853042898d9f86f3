// What keeps a daemon from starting, found out while another one still holds the folder: everything that a start refuses but
// the lock itself. Changes nothing. Implements RUN-260.

import * as TestCallbacks from "@social-harness/endpoint/callbacks/TestCallbacks";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import { StateError } from "@social-harness/endpoint/state/StateError";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as StartLook from "@social-harness/endpoint/store/StartLook";
import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Port from "./Port.ts";

export interface StartOptions {
  readonly allowTestCallbacks: boolean;
  /** The process that holds the folder now. */
  readonly holder: number;
}

/** A start writes before it has looked at anything. */
const demandDisk = ({ path, lock }: StateFolder): void => {
  if (StoreFault.isReadOnly(lock)) {
    throw new StateError(
      "unavailable",
      `${path} cannot be written: the disk is read-only`,
      "make it writable and start again",
    );
  }
  if (!StoreFault.hasRoom(lock)) {
    throw new StateError(
      "unavailable",
      `${path} cannot be written: the disk is full`,
      "make room and start again",
    );
  }
};

/** Rejects with what the start would reject with, where that can be known before. */
export const demandStartable = async (
  folder: StateFolder,
  { port, registryKey }: Configuration,
  { allowTestCallbacks, holder }: StartOptions,
): Promise<void> => {
  TestCallbacks.read(folder, allowTestCallbacks);
  demandDisk(folder);
  await Port.demandFree(folder, port, holder);
  const identity = Identity.load(folder);
  if (identity === null) return;
  await StartLook.look(folder.database, identity, { verifier: Ed25519.verifier, registryKey });
};
