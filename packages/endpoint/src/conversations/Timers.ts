// The process's timers for one agent: the next wake of its conversations, delays by name, and periods. Closing ends them all.

import * as Limits from "@social-harness/protocol/Limits";

export interface Timers {
  /**
   * Replaces the one wake: fires `wake` with `at` (epoch milliseconds) at that time, or never when it is null. No wake is
   * far away: one that seems to be comes from a clock that was set back since, and fires after the longest interval.
   */
  readonly wakeAt: (at: number | null, wake: (at: number) => void) => void;
  /** Fires once after `delayMs`; while it is waiting, the same name is not set again. */
  readonly once: (name: string, delayMs: number, fire: () => void) => void;
  /** Fires once after `delayMs`; returns the function that stops it. */
  readonly after: (delayMs: number, fire: () => void) => () => void;
  readonly every: (periodMs: number, fire: () => void) => void;
  readonly close: () => void;
}

/** The longest interval of any conversation's timers. */
const wakeMsMax = Math.max(Limits.silenceMsMax, Limits.catchUpMsMax);

export const createTimers = (clock: () => number): Timers => {
  const running = new Set<NodeJS.Timeout>();
  const named = new Set<string>();
  let closed = false;
  let wake: NodeJS.Timeout | undefined;

  const set = (delayMs: number, fire: () => void): NodeJS.Timeout => {
    const timer = setTimeout(() => {
      running.delete(timer);
      fire();
    }, delayMs);
    if (closed) clearTimeout(timer);
    else running.add(timer);
    return timer;
  };
  const stop = (timer: NodeJS.Timeout | undefined): void => {
    clearTimeout(timer);
    if (timer !== undefined) running.delete(timer);
  };

  return {
    wakeAt: (at, fire) => {
      stop(wake);
      wake = at === null ? undefined : set(Math.min(Math.max(at - clock(), 0), wakeMsMax), () => fire(at));
    },
    once: (name, delayMs, fire) => {
      if (named.has(name)) return;
      named.add(name);
      set(delayMs, () => {
        named.delete(name);
        fire();
      });
    },
    after: (delayMs, fire) => {
      const timer = set(delayMs, fire);
      return () => stop(timer);
    },
    every: (periodMs, fire) => {
      const again = (): void => {
        set(periodMs, () => {
          fire();
          again();
        });
      };
      again();
    },
    close: () => {
      closed = true;
      for (const timer of running) clearTimeout(timer);
      running.clear();
    },
  };
};
