// Waiting for the end: a command that serves runs until it is told to stop, or until whoever started it is gone.
// Implements RUN-265.

import { flushCompileCache } from "node:module";
import process from "node:process";

/** A server may run for weeks: what it compiled at its start is useful to other commands now. */
export const isServing = (): void => flushCompileCache();

/** What ends it, in words for a log. */
export type StopCause = "SIGTERM" | "SIGINT" | "SIGHUP" | "its parent is gone";

/** Resolves at a signal, of which SIGHUP is a terminal or a login that has gone, and when the IPC channel of a parent that started this process closes. */
export const untilStopped = (): Promise<StopCause> =>
  new Promise((resolve) => {
    const stop = (cause: StopCause): void => resolve(cause);
    // Only an impatient person ends it at once, by the second Ctrl-C: a terminal that goes, and who makes sure, say it twice.
    process.once("SIGINT", stop);
    process.on("SIGTERM", stop);
    process.on("SIGHUP", stop);
    if (process.channel !== undefined) process.once("disconnect", () => stop("its parent is gone"));
  });

/** Lets the process end although its parent still holds the other end of the channel. */
export const releaseParent = (): void => {
  if (process.channel !== undefined && process.connected) process.disconnect();
};
