// `daemon --replace`: asks the daemon that holds a folder to stop, as a supervisor would, and waits until it has let go.
// Signals nobody but the very process that holds the lock, and never kills. Implements RUN-118, RUN-119,
// RUN-260 and RUN-261.

import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import * as Lock from "@social-harness/endpoint/state/Lock";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import { failed, ofUnknown, type Failure } from "../Failure.ts";
import type { Output } from "../Output.ts";
import * as Holding from "./Holding.ts";

/** Twice what a stop may take. */
const waitMsMax = 10_000;
const lookMs = 100;

const ask = (pid: number): void => {
  try {
    process.kill(pid, "SIGTERM");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    // It has ended by itself meanwhile.
    if (code === "ESRCH") return;
    if (code !== "EPERM") throw error;
    throw failed(
      "not-allowed",
      `the daemon with pid ${pid} holds the folder and belongs to another user`,
      "Stop it as that user, then start this one.",
      error,
    );
  }
};

const isHolding = (folder: StateFolder, pid: number): boolean => {
  const holder = Lock.look(folder);
  return holder?.kind === "process" && holder.pid === pid;
};

/** The process that holds the folder; null where none does. */
const holderOf = (folder: StateFolder): number | null => {
  const holder = Lock.look(folder);
  if (holder?.kind !== "unseen") return holder?.pid ?? null;
  throw failed(
    "holder-unseen",
    `${folder.path} is in use by a daemon that is just starting or cannot be seen from here, in another container say`,
    "Try again in a moment; if it stays so, stop that daemon where it runs.",
  );
};

/** Has that process stop; returns once it has let the folder go. */
export const stop = async (folder: StateFolder, pid: number): Promise<void> => {
  ask(pid);
  // By a clock that nobody sets: a wait must end.
  const deadline = performance.now() + waitMsMax;
  while (isHolding(folder, pid)) {
    if (performance.now() > deadline) {
      throw failed(
        "still-held",
        `the daemon with pid ${pid} was asked to stop and still runs after ${waitMsMax / 1_000} s`,
        `Its log says what it does. To end it all the same: kill -9 ${pid}, which loses nothing.`,
      );
    }
    await sleep(lookMs);
  }
};

/** The start's failure, where the one before has gone for it: nobody serves the folder now, or a third one that came first. */
const leftAlone = (folder: StateFolder, pid: number, error: unknown): Failure => {
  const failure = ofUnknown(error);
  const message = `the daemon with pid ${pid} has stopped for this one, which cannot start: ${failure.message}`;
  if (Holding.holderOf(folder) !== null) return failure.with({ message });
  return failure.with({
    message,
    next: `${failure.next} Until \`social-harness daemon\` has started, nobody serves this endpoint; nothing is lost meanwhile.`,
  });
};

export interface Replacement<Running> {
  readonly output: Output;
  readonly folder: StateFolder;
  readonly start: () => Promise<Running>;
}

/**
 * Starts in the place of whoever holds the folder. `demandStartable` is asked before anybody is told to stop, and rejects
 * where the start would: then the other one goes on.
 */
export const replace = async <Running>(
  { output, folder, start }: Replacement<Running>,
  demandStartable: (holder: number) => Promise<void>,
): Promise<Running> => {
  const before = holderOf(folder);
  if (before === null) return start();
  await output.during("Looking whether this one can start", demandStartable(before));
  // Again, because the look may have taken a while.
  const pid = holderOf(folder);
  if (pid === null) return start();
  await output.during("Waiting for the other daemon to stop", stop(folder, pid));
  output.remark(`the daemon with pid ${pid} has stopped`);
  try {
    return await start();
  } catch (error) {
    throw leftAlone(folder, pid, error);
  }
};
