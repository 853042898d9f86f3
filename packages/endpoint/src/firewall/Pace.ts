// Divides the one thread between looks at messages and everything else: whoever has taken some milliseconds gives way, one after
// the other, and nobody takes more than its share. Steps are counted, since a clock would be asked too often; what they
// have cost is measured where somebody gives way. Knows nothing of rules. Implements ING-241 and ING-242.

import { setImmediate, setTimeout } from "node:timers/promises";
import * as Limits from "./Limits.ts";

/** What one message may take. Between two calls of `spend` its holder must not wait for anything else. */
export interface Share {
  /** Counts steps that are to be taken; where others have to have a turn first, what to wait for before that. */
  readonly spend: (steps: number) => Promise<void> | null;
  readonly isUsedUp: () => boolean;
}

export interface Pace {
  /** Its rests end with `signal`. */
  readonly share: (signal: AbortSignal) => Share;
}

const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(Math.min(ms, Limits.restMsMax), undefined, { signal }).catch(() => undefined);

/** `cpuMs` is the time that this thread has computed for so far, in milliseconds. */
export const create = (cpuMs: () => number): Pace => {
  let steps = 0;
  let last: Promise<void> = Promise.resolve();

  /** A rest for each who waits, as long as what it has taken: what else there is needs more than one turn of the event loop. */
  const giveWay = (restMs: number, signal: AbortSignal): Promise<void> =>
    (last = last.then(() => (restMs < 1 || signal.aborted ? setImmediate() : rest(restMs, signal))));

  return {
    share: (signal) => {
      let since = cpuMs();
      let usedMs = 0;
      return {
        spend: (more) => {
          steps += more;
          if (steps < Limits.stepsAtOnce) return null;
          steps = 0;
          const takenMs = cpuMs() - since;
          usedMs += takenMs;
          return giveWay(takenMs, signal).then(() => {
            since = cpuMs();
          });
        },
        isUsedUp: () => usedMs > Limits.rulesMsMax,
      };
    },
  };
};
