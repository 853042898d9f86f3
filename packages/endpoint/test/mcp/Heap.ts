// What is kept in this process, measured after everything that could be collected was.

import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of the heap and of buffers outside of it. */
export const keptBytes = async (): Promise<number> => {
  for (let i = 0; i < 3; i++) {
    collect();
    // Finalizers, and closing sockets, run between collections.
    await setTimeout(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Open sockets of this process, at both ends. */
export const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
