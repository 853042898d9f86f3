// A conversation of a running endpoint as an export: the records as the daemon has verified them, under a signature that
// is made here with the key of the state folder. Implements RUN-40.

import { rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import type { MessageAddress } from "@social-harness/protocol/address/Address";
import * as Export from "@social-harness/protocol/history/Export";
import { failed } from "../Failure.ts";
import type { DaemonClient } from "./DaemonClient.ts";
import { ofReason } from "./Explain.ts";
import { readConversation } from "./History.ts";

/** The lines of the export, and the records in it. `path` is the state folder of the daemon behind `client`. */
export const exportOf = async (client: DaemonClient, path: string, address: MessageAddress) => {
  const folder = StateFolder.at(path);
  const identity = Identity.load(folder);
  const status = await client.call("status");
  if (identity === null || status.kind !== "active") throw ofReason("not-registered");
  if (identity.signingKey !== status.agentCard.signingKey) {
    throw failed(
      "foreign-daemon",
      `the daemon speaks for another key than the one in ${folder.path}`,
      "Give the --state of the daemon's own folder.",
    );
  }
  const { registryKey } = Configuration.load(folder, { environment: process.env });
  const records = await readConversation(client, address);
  const subject = { address, exportedBy: status.agentCard.agentId, registryKey };
  return { lines: Export.write(identity.signer, subject, records), records };
};

/** Whole or not at all, and for its owner's eyes: it holds what was said. */
export const writeWhole = async (path: string, lines: Iterable<string>): Promise<void> => {
  const fresh = `${path}.${process.pid}.new`;
  try {
    await writeFile(fresh, lines, { mode: 0o600 });
    await rename(fresh, path);
  } catch (error) {
    // It holds what was said, and nobody would look for it.
    await rm(fresh, { force: true }).catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw failed("file-unwritable", `${path} cannot be written: ${reason}`, "Give another --output.", error);
  }
};
