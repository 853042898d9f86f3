// The one place where this process ends itself: after its command, once what it said has left it, whatever sockets and timers of
// others are still pending. Implements RUN-310.

import { flushCompileCache } from "node:module";
import process from "node:process";
import { wasStopped } from "./Waiting.ts";

/** Whoever stopped a server does not wait for a reader of its output that stands still. */
const lastWordsMs = 250;

const drained = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) return resolve();
    stream.once("close", resolve);
    stream.write("", () => resolve());
  });

export const end = async (exitCode: number): Promise<never> => {
  // A write that failed is told a moment after it, and may be the failure that counts.
  await new Promise((resolve) => setImmediate(resolve));
  const words = Promise.all([drained(process.stdout), drained(process.stderr)]);
  await (wasStopped()
    ? Promise.race([words, new Promise((resolve) => setTimeout(resolve, lastWordsMs))])
    : words);
  flushCompileCache();
  process.exit(exitCode);
};
