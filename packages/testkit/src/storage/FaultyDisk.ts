// A disk that fails on command under a process of its own: `faults.c`, compiled for this machine. Takes Linux and a C
// compiler; without them `prepare` says so, and its tests are skipped with that sentence.

import { execFileSync } from "node:child_process";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Environment } from "../faults/Process.ts";

const source = fileURLToPath(new URL("./faults.c", import.meta.url));

/** Error numbers of Linux. */
const errors = { EIO: 5, ENOSPC: 28, EROFS: 30 } as const;

export interface Fault {
  /** Which calls: `changes` are all that change a file or a folder, writes and syncs among them. */
  readonly which: "reads" | "writes" | "syncs" | "changes";
  /** With which error, or that the process ends there. */
  readonly by: keyof typeof errors | "SIGKILL";
  /** How many such calls pass before it, over the life of the process. */
  readonly after?: number;
}

export interface FaultyDisk {
  /** For a process whose files under `folder` are to fail. */
  readonly environment: (folder: string) => Environment;
  /** From now on, until `heal`. */
  readonly fail: (fault: Fault) => void;
  readonly heal: () => void;
}

/** `scratch` is a folder that the process does not use. */
export const prepare = (scratch: string): FaultyDisk | { readonly why: string } => {
  if (process.platform !== "linux") return { why: "calls to files are intercepted on Linux alone" };
  const library = join(scratch, "faults.so");
  try {
    execFileSync("cc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "pipe" });
  } catch {
    return { why: "there is no C compiler here that makes a shared library" };
  }
  const plan = join(scratch, "plan");
  const heal = (): void => writeFileSync(plan, "");
  heal();
  return {
    environment: (folder) => ({
      LD_PRELOAD: library,
      FAULTS_FOLDER: realpathSync(folder),
      FAULTS_PLAN: plan,
    }),
    fail: ({ which, by, after = 0 }) =>
      writeFileSync(plan, `${which} ${by === "SIGKILL" ? -9 : errors[by]} ${after}\n`),
    heal,
  };
};
