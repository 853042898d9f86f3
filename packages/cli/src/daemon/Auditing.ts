// The store of a state folder, checked whole from outside. Asks no daemon, and disturbs none. Implements HIS-117.

import { existsSync } from "node:fs";
import { type CheckedConversation, checkEverything } from "@social-harness/endpoint/store/FullCheck";
import * as StoreFile from "@social-harness/endpoint/store/StoreFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { failed } from "../Failure.ts";
import { joinFirst, pathOf, type StateOptions } from "./Profile.ts";

/** What is certified in the store, when all of it verifies. Rejects with `StoreError` when anything does not. */
export const verifyStore = async (
  options: StateOptions,
  registryKey: SigningKey,
): Promise<ReadonlyArray<CheckedConversation>> => {
  const folder = StateFolder.at(pathOf(options));
  StoreFile.demandWhole(folder.database);
  if (!existsSync(folder.database)) {
    throw failed("no-store", `${folder.path} holds no store`, joinFirst);
  }
  return checkEverything(folder.database, { verifier: Ed25519.verifier, registryKey });
};
