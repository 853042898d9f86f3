// The option that names a network's folder.

import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { folderPath } from "../Command.ts";

export interface DataOptions {
  readonly data: string;
}

/** Beside the profiles of endpoints, never among them. */
const defaultFolder = (): string =>
  join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "social-harness-network");

export const withData = (command: Command): Command =>
  command.option("--data <dir>", "the network's folder", folderPath, defaultFolder());
