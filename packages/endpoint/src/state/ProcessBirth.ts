// What tells a process from a later one of the same pid: when it was born, in words that only compare. Null where there is
// no such process, or where nobody can tell.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";

/** Of `/proc/<pid>/stat`, counted behind the name in brackets: ticks since the boot. */
const startTimeField = 19;

const ofLinux = (pid: number): string | null => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[startTimeField];
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return ticks === undefined ? null : `${boot} ${ticks}`;
};

const ofPs = (pid: number): string | null => {
  const started = execFileSync("/bin/ps", ["-o", "lstart=", "-p", String(pid)], {
    encoding: "utf8",
    stdio: "pipe",
    // The same words for everybody who asks, a service without a language or a person with one.
    env: { LC_ALL: "C", TZ: "UTC" },
  });
  return started.trim() === "" ? null : started.trim();
};

export const of = (pid: number): string | null => {
  try {
    return process.platform === "linux" ? ofLinux(pid) : ofPs(pid);
  } catch {
    return null;
  }
};
