// The keys of a state folder, and a folder that has lost them: an agent was asked for from it, or a store stands there. Others
// made in their place would be those of another agent, to which neither the name nor the conversations belong. Implements
// RUN-340.

import * as Identity from "@social-harness/endpoint/state/Identity";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as StoreFile from "@social-harness/endpoint/store/StoreFile";
import { failed, type Failure } from "../Failure.ts";
import * as Joining from "./Joining.ts";
import { joinFirst, random } from "./Profile.ts";

/** Whose keys were here, for people; null where there never were any, as far as the folder shows. */
const formerOwner = (folder: StateFolder): string | null => {
  const registration = Joining.readRegistration(folder);
  if (registration !== null) return registration.agentName;
  return StoreFile.isEmpty(folder.database) ? null : "an agent";
};

/** Why a folder without `identity.json` is not served. */
export const missing = (folder: StateFolder): Failure => {
  const owner = formerOwner(folder);
  if (owner === null) return failed("no-keys", `${folder.path} has no keys yet`, joinFirst);
  return failed(
    "keys-lost",
    `${folder.path} has no keys although ${owner} has lived in it: identity.json is missing`,
    "Put identity.json back, or move the folder away and `social-harness restore <backup>`. The keys cannot be made again, and no other keys get this name.",
  );
};

/** Throws a `Failure` where there are none. */
export const demand = (folder: StateFolder): Identity.Identity => {
  const identity = Identity.load(folder);
  if (identity === null) throw missing(folder);
  return identity;
};

/** Those that are here, or new ones in a folder that never had any. Throws a `Failure` where they are lost. */
export const ensure = (
  folder: StateFolder,
): { readonly identity: Identity.Identity; readonly isNew: boolean } => {
  const existing = Identity.load(folder);
  if (existing !== null) return { identity: existing, isNew: false };
  if (formerOwner(folder) !== null) throw missing(folder);
  return { identity: Identity.create(folder, random), isNew: true };
};
