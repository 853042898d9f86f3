// The tools of others, in a folder of their own so that they weigh on nobody's `npm ci`: installed on first use and again
// whenever their lock changes, without running a script of any of them.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const lock = join(folder, "package-lock.json");
/** A copy of the lock that was installed whole. */
const installed = join(folder, "node_modules", ".installed-lock.json");

const isCurrent = (): boolean => {
  const wanted = readFileSync(lock, "utf8");
  return existsSync(installed) && readFileSync(installed, "utf8") === wanted;
};

const install = (): void => {
  process.stdout.write("Installing the tools of others into tools/mcp/node_modules ...\n");
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--prefix", folder], {
    // npm writes what it does to the first stream; here that is for whoever waits, and no result.
    stdio: ["ignore", process.stderr, process.stderr],
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error("npm could not install tools/mcp; its last lines say why");
  writeFileSync(installed, readFileSync(lock));
};

/** The script behind a package's command, which is started with this same Node. */
export const commandOf = (name: string, script: string): string => {
  if (!isCurrent()) install();
  return join(folder, "node_modules", name, script);
};
