// A place where one process lives at a time: started, killed and started again with the same arguments. Whoever talks to
// it waits for its next life; whoever kills it need not wait for anything, not even for its being ready.

import { setTimeout as sleep } from "node:timers/promises";
import type { Supply } from "../storage/PowerCut.ts";
import * as Process from "./Process.ts";

export interface Resident {
  readonly name: string;
  /** Begins the next life. Resolves when it is ready, or with false when it was killed before that. */
  readonly start: () => Promise<boolean>;
  /** SIGKILL, whatever it is doing; SIGTERM `warnedMs` before it. Resolves when the process is gone. */
  readonly kill: (warnedMs?: number | null) => Promise<void>;
  /** SIGTERM. Resolves with whether it ended by itself with code 0 within `msMax`. */
  readonly stop: (msMax: number) => Promise<boolean>;
  /** SIGSTOP and, later, SIGCONT. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** What the running life, or the next one that comes so far, said when it was ready. */
  readonly ready: () => Promise<unknown>;
  /** Of the process that lives now; 0 when there is none. */
  readonly pid: () => number;
  /** A number that is another in each life. */
  readonly life: () => number;
}

export interface ResidentOptions {
  readonly name: string;
  readonly file: string;
  readonly args: ReadonlyArray<string>;
  /** Variables of each life, beside those of whoever runs this. */
  readonly environment?: Process.Environment;
  /** Its disk, where a kill is a power cut. */
  readonly supply?: Supply | null;
  /** What its lives say on stderr is gathered here. */
  readonly log: string;
  /** It ended although nobody told it to. */
  readonly onUnexpectedEnd: (how: string) => void;
}

export const create = (options: ResidentOptions): Resident => {
  let current: Process.Process | null = null;
  let told = false;
  let lives = 0;
  let isReady = false;
  let readiness = Promise.withResolvers<unknown>();

  const end = async (signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> => {
    const ending = current;
    if (ending === null) return null;
    told = true;
    current = null;
    // Whoever waits for a life that never became ready waits for the next one.
    if (isReady) readiness = Promise.withResolvers();
    isReady = false;
    ending.signal(signal);
    return ending.ended;
  };

  return {
    name: options.name,
    start: async () => {
      if (current !== null) throw new Error(`${options.name} is running`);
      const born = Process.start(options.file, options.args, options.log, {
        ...options.environment,
        ...options.supply?.environment,
      });
      current = born;
      told = false;
      lives++;
      void born.ended.then((how) => {
        if (current === born && !told) options.onUnexpectedEnd(`${options.name} ended by itself with ${how}`);
      });
      const ready = await born.ready;
      if (current !== born || ready === null) return false;
      isReady = true;
      readiness.resolve(ready);
      return true;
    },
    kill: async (warnedMs = null) => {
      if (warnedMs === null) await end("SIGKILL");
      else {
        const warned = current;
        const ended = end("SIGTERM");
        await sleep(warnedMs);
        warned?.signal("SIGKILL");
        await ended;
      }
      options.supply?.cut();
    },
    stop: async (msMax) => {
      const stopping = current;
      const late = setTimeout(() => stopping?.signal("SIGKILL"), msMax);
      const how = await end("SIGTERM");
      clearTimeout(late);
      return how === 0 || how === null;
    },
    pause: () => current?.signal("SIGSTOP"),
    resume: () => current?.signal("SIGCONT"),
    ready: () => readiness.promise,
    pid: () => current?.pid ?? 0,
    life: () => lives,
  };
};

/** Begins the first life and resolves with what it said. Throws when there is none to begin with. */
export const startFirst = async (resident: Resident): Promise<unknown> => {
  if (!(await resident.start())) throw new Error(`${resident.name} did not start`);
  return resident.ready();
};
