// Says that a server has more connections than it has room for: at the first that had to go, and then once in a minute at
// most, with how many there were since, also when no other has to go any more. A flood fills no log.

export interface CrowdingOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Calls `fire` once after `delayMs`. */
  readonly schedule: (delayMs: number, fire: () => void) => void;
  /** How many had to go, or could not come, since it was told last. */
  readonly tell: (connections: number) => void;
}

const quietMs = 60_000;

export const make = ({ clock, schedule, tell }: CrowdingOptions): (() => void) => {
  let toldAt = -Infinity;
  let untold = 0;
  let isScheduled = false;

  const say = (): void => {
    if (untold === 0) return;
    toldAt = clock();
    tell(untold);
    untold = 0;
  };

  return () => {
    untold += 1;
    const now = clock();
    // A clock that was set back does not silence it.
    if (now < toldAt || now - toldAt >= quietMs) return say();
    if (isScheduled) return;
    isScheduled = true;
    schedule(quietMs - (now - toldAt), () => {
      isScheduled = false;
      say();
    });
  };
};
