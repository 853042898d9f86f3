// A disk that fails on command under a process of its own: `faults.c`, compiled for this machine. Takes Linux and a C
// compiler; without them `prepare` says so, and its tests are skipped with that sentence.

import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
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
  /** How many such calls pass before it, from `fail` on. */
  readonly after?: number;
}

/** A call that changes a file or a folder, and the one that it changes, below the folder. */
export interface Step {
  readonly call: string;
  readonly path: string;
}

export interface FaultyDisk {
  /** For a process whose files under `folder` are to fail. */
  readonly environment: (folder: string) => Environment;
  /** From now on, until `heal`. */
  readonly fail: (fault: Fault) => void;
  /** Lets every change pass from now on, and counts them, until `heal`. */
  readonly watch: () => void;
  readonly heal: () => void;
  /** What was counted since the last `fail` or `watch`, the call that failed or was the end included. */
  readonly steps: () => ReadonlyArray<Step>;
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
  const trace = join(scratch, "trace");
  const heal = (): void => writeFileSync(plan, "");
  heal();
  let plans = 0;
  const begin = (which: Fault["which"], what: number, after: number): void => {
    writeFileSync(trace, "");
    writeFileSync(plan, `${which} ${what} ${after} ${++plans}\n`);
  };
  return {
    environment: (folder) => ({
      LD_PRELOAD: library,
      FAULTS_FOLDER: realpathSync(folder),
      FAULTS_PLAN: plan,
      FAULTS_TRACE: trace,
    }),
    fail: ({ which, by, after = 0 }) => begin(which, by === "SIGKILL" ? -9 : errors[by], after),
    watch: () => begin("changes", 0, 0),
    heal,
    steps: () =>
      readFileSync(trace, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => {
          const [call = "", path = ""] = line.split(" ");
          return { call, path };
        }),
  };
};
