// What every serving process shows of itself and of the file that it keeps its work in, as measurements: memory, processor
// time, since when it runs, its version, how large the file and its write-ahead log are, and the room left on their disk.
// Implements RUN-295 and RUN-333.

import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";

const { single } = PrometheusText;

/** 0 for a file that is not there. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What whoever runs this process may still write there; null where the system does not tell. */
const roomBeside = (path: string): number | null => {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return null;
  }
};

const roomOf = (name: string, what: string, path: string): ReadonlyArray<PrometheusText.Family> => {
  const room = roomBeside(path);
  if (room === null) return [];
  return [
    single("gauge", `social_harness_${name}_disk_free_bytes`, `Room left on the disk of the ${what}.`, room),
  ];
};

/** `name` is what the file is to the program: `store`, or `router_log`. */
export const ofFile = (name: string, what: string, path: string): ReadonlyArray<PrometheusText.Family> => [
  single("gauge", `social_harness_${name}_bytes`, `Size of the ${what}'s file.`, sizeOf(path)),
  single(
    "gauge",
    `social_harness_${name}_wal_bytes`,
    `Size of the ${what}'s write-ahead log.`,
    sizeOf(`${path}-wal`),
  ),
  ...roomOf(name, what, path),
];

/** `startedAt` in epoch milliseconds. */
export const ofProcess = (startedAt: number, version: string): ReadonlyArray<PrometheusText.Family> => {
  const { user, system } = process.cpuUsage();
  const memory = process.memoryUsage.rss();
  return [
    {
      name: "social_harness_build_info",
      type: "gauge",
      help: "1, with the program's version.",
      samples: [{ labels: { version }, value: 1 }],
    },
    single("gauge", "process_start_time_seconds", "When the process began to serve.", startedAt / 1_000),
    single("counter", "process_cpu_seconds_total", "Processor time.", (user + system) / 1_000_000),
    single("gauge", "process_resident_memory_bytes", "Resident memory.", memory),
  ];
};
