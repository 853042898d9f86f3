// When a failed delivery is tried again. Pure: the jitter comes in as a number. Implements ING-95.

import * as Limits from "./Limits.ts";

/**
 * Milliseconds until the next attempt after so many failed ones. `jitter` is from 0 to 1 and takes at most half of the wait
 * away, so that receivers that fell together are not met together; a receiver's own wish can only make it longer.
 */
export const delayMs = (failedAttempts: number, jitter: number, retryAfterMs: number | null): number => {
  const doubled = Limits.retryMsMin * 2 ** Math.min(failedAttempts - 1, 16);
  const wait = Math.min(doubled, Limits.retryMsMax);
  const shortened = Math.round(wait * (1 - jitter / 2));
  return Math.max(shortened, Math.min(retryAfterMs ?? 0, Limits.retryMsMax));
};
