// A bounded number of places for what takes its time, shared fairly: some of them at most for each party, and parties take turns,
// so that none of them can take what there is from all others. Knows nothing of what is done there. Implements ING-248.

export interface Bounds {
  readonly placesMax: number;
  readonly ofOneMax: number;
}

export interface Places {
  /** Resolves with what gives the place back, once there is one. Rejects when `signal` ends the wait. */
  readonly take: (party: string, signal: AbortSignal) => Promise<() => void>;
}

interface Waiter {
  readonly begin: () => void;
  readonly isGone: () => boolean;
}

export const create = ({ placesMax, ofOneMax }: Bounds): Places => {
  const taken = new Map<string, number>();
  /** By party, the one first whose last turn is longest ago. */
  const waiting = new Map<string, Array<Waiter>>();
  let free = placesMax;

  const change = (party: string, by: 1 | -1): void => {
    free -= by;
    const left = (taken.get(party) ?? 0) + by;
    if (left === 0) taken.delete(party);
    else taken.set(party, left);
  };

  /** Takes the next of a party out; null where those that are left have gone. */
  const nextOf = (party: string, waiters: Array<Waiter>): Waiter | null => {
    waiting.delete(party);
    for (;;) {
      const next = waiters.shift();
      if (next === undefined) return null;
      if (next.isGone()) continue;
      if (waiters.length > 0) waiting.set(party, waiters);
      return next;
    }
  };

  const look = (): void => {
    for (const [party, waiters] of waiting) {
      if (free === 0) return;
      if ((taken.get(party) ?? 0) >= ofOneMax) continue;
      const next = nextOf(party, waiters);
      if (next === null) continue;
      change(party, 1);
      next.begin();
    }
  };

  return {
    take: (party, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const giveUp = (): void => reject(signal.reason);
        signal.addEventListener("abort", giveUp, { once: true });
        const waiter: Waiter = {
          isGone: () => signal.aborted,
          begin: () => {
            signal.removeEventListener("abort", giveUp);
            resolve(() => {
              change(party, -1);
              look();
            });
          },
        };
        const waiters = waiting.get(party);
        if (waiters === undefined) waiting.set(party, [waiter]);
        else waiters.push(waiter);
        look();
      }),
  };
};
