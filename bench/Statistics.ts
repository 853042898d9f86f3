// Order statistics of samples, and the two clocks of a measurement: the wall's and this process's own processor time.

/** The smallest sample that at least `share` of all samples do not exceed. */
export const quantile = (samples: ReadonlyArray<number>, share: number): number => {
  const sorted = [...samples].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
};

export const median = (samples: ReadonlyArray<number>): number => quantile(samples, 0.5);

/** Milliseconds of the wall clock that `work` takes. */
export const wallMsOf = (work: () => void): number => {
  const started = performance.now();
  work();
  return performance.now() - started;
};

/** Milliseconds that this process has spent on processors, all threads, since `start`. */
export const cpuMsSince = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
};
