// A disk of a few megabytes that a test can fill and empty again: a tmpfs of its own, which takes root and the right to
// mount. Where that is not allowed `mount` says so, and its tests are skipped with that sentence.

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface SmallDisk {
  readonly path: string;
  /** Takes every free byte. */
  readonly fill: () => void;
  readonly empty: () => void;
  /** While nothing on it is open for writing. */
  readonly takeWrites: (are: "taken" | "refused") => void;
  /** Ends it with all that it holds. */
  readonly unmount: () => void;
}

export interface NoDisk {
  readonly why: string;
}

const chunk = Buffer.alloc(65_536);

const takeAll = (file: string): void => {
  const descriptor = openSync(file, "a");
  try {
    for (let size = chunk.byteLength; size > 0;) {
      try {
        writeSync(descriptor, chunk, 0, size);
      } catch {
        size = Math.floor(size / 2);
      }
    }
  } finally {
    closeSync(descriptor);
  }
  if (statfsSync(file).bavail > 0) throw new Error("the disk is not full");
};

/** Mounts one at a folder that it makes. */
export const mount = (path: string, megabytes: number): SmallDisk | NoDisk => {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", path], {
      stdio: "pipe",
    });
  } catch {
    return { why: "a disk of its own cannot be mounted here: that takes root and the right to mount" };
  }
  const ballast = join(path, "ballast");
  return {
    path,
    fill: () => takeAll(ballast),
    empty: () => rmSync(ballast, { force: true }),
    takeWrites: (are) =>
      void execFileSync("mount", ["-o", `remount,${are === "taken" ? "rw" : "ro"}`, path], { stdio: "pipe" }),
    unmount: () => void execFileSync("umount", ["--lazy", path], { stdio: "pipe" }),
  };
};
