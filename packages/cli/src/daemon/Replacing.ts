// `daemon --replace`: asks the daemon that holds a folder to stop, as a supervisor would, and waits until it has let go.
// Signals nobody but the very process that holds the lock, and never kills. Implements RUN-118 and RUN-119.

import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import * as Lock from "@social-harness/endpoint/state/Lock";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import { failed } from "../Failure.ts";

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

/** Resolves with the pid of the daemon that has gone, or with null when none was there. */
export const stopHolder = async (folder: StateFolder): Promise<number | null> => {
  const holder = Lock.look(folder);
  if (holder === null) return null;
  if (holder.kind === "unseen") {
    throw failed(
      "holder-unseen",
      `${folder.path} is in use by a daemon that is just starting or cannot be seen from here, in another container say`,
      "Try again in a moment; if it stays so, stop that daemon where it runs.",
    );
  }
  const { pid } = holder;
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
  return pid;
};
