// Delays between attempts: doubling from a minimum to a maximum, each drawn from its upper half so that the clients of a
// restarted Router do not return in step.

export interface BackoffLimits {
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
}

export interface Backoff {
  /** The next delay in milliseconds. */
  readonly next: () => number;
  /** The longest delay, for what will not pass by itself. */
  readonly slowest: () => number;
  readonly reset: () => void;
}

export const makeBackoff = (
  random: (byteCount: number) => Uint8Array,
  { backoffMsMin, backoffMsMax }: BackoffLimits,
): Backoff => {
  let attempts = 0;
  const drawn = (delayMs: number): number =>
    delayMs / 2 + (delayMs / 2) * (Buffer.from(random(4)).readUInt32BE() / 2 ** 32);
  return {
    next: () => {
      const delayMs = Math.min(backoffMsMax, backoffMsMin * 2 ** attempts);
      attempts = Math.min(attempts + 1, 30);
      return drawn(delayMs);
    },
    slowest: () => drawn(backoffMsMax),
    reset: () => {
      attempts = 0;
    },
  };
};
