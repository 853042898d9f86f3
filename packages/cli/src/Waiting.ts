// Waiting for the end: a command that serves runs until it is told to stop, or until whoever started it is gone.
// Implements RUN-265 and RUN-311.

import { flushCompileCache } from "node:module";
import process from "node:process";
import { failed } from "./Failure.ts";

/** A server may run for weeks: what it compiled at its start is useful to other commands now. */
export const isServing = (): void => flushCompileCache();

/** What ends it, in words for a log. */
export type StopCause = "SIGTERM" | "SIGINT" | "SIGHUP" | "its parent is gone";

let stopped = false;

/** Whether this process was told to stop. */
export const wasStopped = (): boolean => stopped;

/** Resolves at a signal, of which SIGHUP is a terminal or a login that has gone, and when the IPC channel of a parent that started this process closes. */
export const untilStopped = (): Promise<StopCause> =>
  new Promise((resolve) => {
    const stop = (cause: StopCause): void => {
      stopped = true;
      resolve(cause);
    };
    // Only an impatient person ends it at once, by the second Ctrl-C: a terminal that goes, and who makes sure, say it twice.
    process.once("SIGINT", stop);
    process.on("SIGTERM", stop);
    process.on("SIGHUP", stop);
    if (process.channel !== undefined) process.once("disconnect", () => stop("its parent is gone"));
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
