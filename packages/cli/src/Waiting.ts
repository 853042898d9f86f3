// Waiting for the end: a command that serves runs until it is told to stop, or until whoever started it is gone.

import { flushCompileCache } from "node:module";
import process from "node:process";

/** A server may run for weeks: what it compiled at its start is useful to other commands now. */
export const isServing = (): void => flushCompileCache();

/** Resolves at SIGTERM or SIGINT, and when the IPC channel of a parent that started this process closes. */
export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = (): void => resolve();
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
    if (process.channel !== undefined) process.once("disconnect", stop);
  });

/** Lets the process end although its parent still holds the other end of the channel. */
export const releaseParent = (): void => {
  if (process.channel !== undefined && process.connected) process.disconnect();
};
