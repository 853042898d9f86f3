// The option that names a network's folder.

import { join } from "node:path";
import type { Command } from "commander";
import { folderPath } from "../Command.ts";
import { misused } from "../Failure.ts";
import * as UserFolders from "../UserFolders.ts";

export interface DataOptions {
  readonly data: string;
}

/** Beside the profiles of endpoints, never among them. Undefined where the environment names no home. */
const defaultFolder = (): string | undefined => {
  const folder = UserFolders.of("XDG_STATE_HOME");
  return folder === null ? undefined : join(folder, "social-harness-network");
};

export const withData = (command: Command): Command =>
  command
    .option("--data <dir>", "the network's folder", folderPath, defaultFolder())
    .hook("preAction", (acting) => {
      if (acting.opts<Partial<DataOptions>>().data === undefined)
        throw misused(UserFolders.none, "Set it, or name the network's folder with --data.");
    });
