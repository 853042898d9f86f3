// What keeps a daemon from starting, found out without starting one, perhaps while another one still holds the folder:
// everything that a start refuses but its lock and its port. Changes nothing. Implements RUN-260 and RUN-281.

import * as TestCallbacks from "@social-harness/endpoint/callbacks/TestCallbacks";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import { StateError } from "@social-harness/endpoint/state/StateError";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Sample from "@social-harness/endpoint/store/Sample";
import { StoreError } from "@social-harness/endpoint/store/StoreError";
import * as StoreFile from "@social-harness/endpoint/store/StoreFile";
import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import * as Keys from "./Keys.ts";
import * as LostStore from "./LostStore.ts";

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
  { registryKey }: Configuration,
  allowTestCallbacks: boolean,
): Promise<void> => {
  const identity = Keys.demand(folder);
  TestCallbacks.read(folder, allowTestCallbacks);
  LostStore.demandStore(folder);
  demandDisk(folder);
  if (StoreFile.isEmpty(folder.database)) return;
  try {
    await Sample.asAtStart(folder.database, identity, { verifier: Ed25519.verifier, registryKey });
  } catch (error) {
    // A start brings that one up, and checks it then.
    if (!(error instanceof StoreError && error.reason === "older-schema")) throw error;
  }
};
