// How often a measurement fell below each of some bounds, as Prometheus counts it. Holds counts and no measurement.

import type { Sample } from "@social-harness/protocol/encoding/PrometheusText";

export interface Histogram {
  readonly observe: (value: number) => void;
  readonly samples: () => ReadonlyArray<Sample>;
}

/** `bounds` rise; beyond the last of them everything else is counted. */
export const create = (bounds: ReadonlyArray<number>): Histogram => {
  const counts = bounds.map(() => 0);
  let count = 0;
  let sum = 0;
  return {
    observe: (value) => {
      count += 1;
      sum += value;
      for (const [index, bound] of bounds.entries())
        if (value <= bound) counts[index] = (counts[index] ?? 0) + 1;
    },
    samples: () => [
      ...bounds.map((bound, index): Sample => ({
        suffix: "_bucket",
        labels: { le: String(bound) },
        value: counts[index] ?? 0,
      })),
      { suffix: "_bucket", labels: { le: "+Inf" }, value: count },
      { suffix: "_sum", value: sum },
      { suffix: "_count", value: count },
    ],
  };
};
