// Waiting for the end: a command that serves runs until it is told to stop, or until whoever started it is gone.
// Implements RUN-311.

import { flushCompileCache } from "node:module";
import process from "node:process";
import { failed } from "./Failure.ts";

/** A server may run for weeks: what it compiled at its start is useful to other commands now. */
export const isServing = (): void => flushCompileCache();

let stopped = false;

/** Whether this process was told to stop. */
export const wasStopped = (): boolean => stopped;

/** Resolves at SIGTERM or SIGINT, and when the IPC channel of a parent that started this process closes. */
export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = (): void => {
      stopped = true;
      resolve();
    };
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
    if (process.channel !== undefined) process.once("disconnect", stop);
  });

/** A stop takes under five seconds, the last words and the end of the process with them. */
const closeMsMax = 4_500;

/**
 * Closes what served. One limit holds for everything in it, whatever each part allows itself; past it the process ends as it
 * stands, which costs no more than a power cut.
 */
export const closeInTime = async (close: () => Promise<void>, msMax = closeMsMax): Promise<void> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = setTimeout(() => {
    const message = `not everything was closed within ${msMax / 1_000} s of the stop, so it ended as it stood`;
    reject(
      failed("stop-late", message, "Nothing is lost; the next start goes on. Its log says what was last."),
    );
  }, msMax);
  try {
    await Promise.race([close(), promise]);
  } finally {
    clearTimeout(late);
  }
};
