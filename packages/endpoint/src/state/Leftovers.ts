// What a killed process was about to put in place when it ended: files of the state folder under a name with its pid. They
// are no state, and hold keys and tokens under a second name, so a start removes those whose process is gone.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { stagingPid } from "./PrivateFile.ts";
import * as ProcessBirth from "./ProcessBirth.ts";
import { codeOf } from "./StateError.ts";
import type { StateFolder } from "./StateFolder.ts";

/** This process stages nothing while it calls this, so what has its pid is an earlier one's. */
const isGone = (pid: number): boolean => pid === process.pid || ProcessBirth.of(pid) === null;

/** For who holds the lock. Where the disk takes no change they stay. */
export const remove = (folder: StateFolder): void => {
  try {
    for (const name of readdirSync(folder.path)) {
      const pid = stagingPid(name);
      if (pid !== null && isGone(pid)) rmSync(join(folder.path, name), { force: true });
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
};
