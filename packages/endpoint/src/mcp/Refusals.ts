// What the log says of refused requests: the first at once, of a flood a count now and then, so that whoever is kept out
// can neither fill the disk nor push older lines out of the log. Knows the status alone, never what was offered.

import type { Logger } from "@social-harness/router/Logger";

const intervalMs = 10_000;

interface Tally {
  count: number;
  /** Epoch milliseconds. */
  saidAt: number;
}

export const counter = (logger: Logger, clock: () => number): ((status: number) => void) => {
  const tallies = new Map<number, Tally>();
  return (status) => {
    const now = clock();
    const { count, saidAt } = tallies.get(status) ?? { count: 0, saidAt: -Infinity };
    const isDue = Math.abs(now - saidAt) >= intervalMs;
    if (isDue) logger("info", "requests were refused", { status, count: count + 1 });
    tallies.set(status, isDue ? { count: 0, saidAt: now } : { count: count + 1, saidAt });
  };
};
