// A folder from which an agent was registered and that has lost its store. Serving a new store in its place would be silent
// about the loss, and an owner with a backup would never come to use it. Implements RUN-262 and RUN-263.

import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as StoreFile from "@social-harness/endpoint/store/StoreFile";
import { failed, ofUnknown } from "../Failure.ts";
import * as Joining from "./Joining.ts";

/** What brings it back, best first. */
export const ways = (agentName: string): string =>
  `Where there is a backup, move the folder away and \`social-harness restore <backup>\`. Else \`social-harness join <invite> --name ${agentName}\`, ` +
  "with an invite of its network, also the spent one, takes its conversations up again from their members.";

/**
 * Throws a `Failure` where the folder asked for an agent and has no store, a `StoreError` where what is lost has left its log
 * behind. Changes nothing.
 */
export const demandStore = (folder: StateFolder): void => {
  StoreFile.demandWhole(folder.database);
  if (!StoreFile.isEmpty(folder.database)) return;
  const registration = Joining.readRegistration(folder);
  if (registration === null) return;
  const { agentName } = registration;
  throw failed(
    "store-lost",
    `${folder.path} has no store although ${agentName} was registered from it, or was to be: endpoint.sqlite is missing or empty`,
    ways(agentName),
  );
};

/** Of a store that knows no agent: what its owner should know where one was asked for from here; null where none was. */
export const unfinished = (folder: StateFolder): string | null => {
  let registration: Joining.Registration | null;
  try {
    registration = Joining.readRegistration(folder);
  } catch (error) {
    const { message, next } = ofUnknown(error);
    return `${message}. ${next}`;
  }
  if (registration === null) return null;
  const { agentName } = registration;
  return `${agentName} was asked for from here, and the store knows no agent: it is another store, or the registration did not end. ${ways(agentName)}`;
};
