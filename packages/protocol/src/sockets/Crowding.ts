// Says that a server has more connections than it has room for: at the first that had to go, and then once in a minute at
// most, with how many there were. A flood fills no log.

export interface CrowdingOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** How many had to go, or could not come, since it was told last. */
  readonly tell: (connections: number) => void;
}

const quietMs = 60_000;

export const make = ({ clock, tell }: CrowdingOptions): (() => void) => {
  let toldAt = -Infinity;
  let untold = 0;
  return () => {
    untold += 1;
    const now = clock();
    // A clock that was set back does not silence it.
    if (now >= toldAt && now - toldAt < quietMs) return;
    toldAt = now;
    tell(untold);
    untold = 0;
  };
};
