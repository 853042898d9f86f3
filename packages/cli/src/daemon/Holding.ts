// Who holds a state folder by the kernel's word, and which of the daemons that an endpoint.json names that is. Asks nobody at
// any address. Implements RUN-300.

import { existsSync } from "node:fs";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as Lock from "@social-harness/endpoint/state/Lock";
import { StateError } from "@social-harness/endpoint/state/StateError";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";

const unseen: Lock.Holder = { kind: "unseen" };

/**
 * As `Lock.look`. A lock that is not there, or that a disk which takes no change lets nobody try, says nothing of who holds it.
 * Whoever waits for nobody may take another who looks at this moment for a holder that cannot be seen.
 */
export const holderOf = (folder: StateFolder, patienceMs?: number): Lock.Holder | null => {
  if (!existsSync(folder.lock)) return unseen;
  try {
    return Lock.look(folder, patienceMs);
  } catch (error) {
    if (error instanceof StateError) return unseen;
    throw error;
  }
};

/** Whether the process that holds the folder is the one that wrote `endpoint`. */
export const isOf = (holder: Lock.Holder, { pid, born }: EndpointFile.Endpoint): boolean =>
  holder.kind === "process" && holder.pid === pid && holder.born === born;

/** What a daemon of the folder wrote down of itself; null where none did, or where it cannot be read here. */
export const writtenIn = (folder: StateFolder): EndpointFile.Endpoint | null => {
  try {
    return EndpointFile.read(folder);
  } catch (error) {
    if (error instanceof StateError) return null;
    throw error;
  }
};

/** The daemon that wrote endpoint.json, where it can be seen to hold the folder: a file that was left behind names none. */
export const daemonOf = (folder: StateFolder): EndpointFile.Endpoint | null => {
  const endpoint = writtenIn(folder);
  const holder = endpoint === null ? null : holderOf(folder);
  return endpoint !== null && holder !== null && isOf(holder, endpoint) ? endpoint : null;
};

export const portOf = ({ mcpUrl }: Pick<EndpointFile.Endpoint, "mcpUrl">): number =>
  Number(new URL(mcpUrl).port);
