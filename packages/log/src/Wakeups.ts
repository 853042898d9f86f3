// Tells waiting subscriptions that a log has grown. A signal that comes between a look at the log and the wait for the
// next signal is not lost: the waiter names the count that it looked under.

export interface Wakeups {
  /** How often `notify` was called. Take it before looking at the log. */
  readonly count: () => number;
  readonly notify: () => void;
  /** Resolves once `notify` was called after `seen` was taken, or `signal` aborted. */
  readonly changedSince: (seen: number, signal?: AbortSignal) => Promise<void>;
}

/** `watching(true)` is called when the first waiter comes, `watching(false)` when none is left. */
export const makeWakeups = (watching: (any: boolean) => void = () => {}): Wakeups => {
  const waiters = new Set<() => void>();
  let count = 0;
  const leave = (wake: () => void): void => {
    if (waiters.delete(wake) && waiters.size === 0) watching(false);
  };
  return {
    count: () => count,
    notify: () => {
      count++;
      for (const wake of Array.from(waiters)) wake();
    },
    changedSince: (seen, signal) => {
      if (count !== seen || signal?.aborted === true) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => {
        leave(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      signal?.addEventListener("abort", wake);
      waiters.add(wake);
      if (waiters.size === 1) watching(true);
      return promise;
    },
  };
};
