// What the Router counts, in the Prometheus text format. Counts only: no agent appears in it.

import type { RefusedReason, RejectedReason } from "../wire/Frames.ts";

export interface Metrics {
  readonly accepted: () => void;
  readonly rejected: (reason: RejectedReason) => void;
  readonly refused: (reason: RefusedReason) => void;
  readonly delivered: () => void;
  readonly text: (connections: number) => string;
}

export const makeMetrics = (): Metrics => {
  let accepted = 0;
  let delivered = 0;
  const rejected = new Map<RejectedReason, number>();
  const refused = new Map<RefusedReason, number>();

  const byReason = (name: string, counts: ReadonlyMap<string, number>): ReadonlyArray<string> => [
    `# TYPE ${name} counter`,
    ...[...counts].map(([reason, count]) => `${name}{reason="${reason}"} ${count}`),
  ];

  return {
    accepted: () => {
      accepted += 1;
    },
    rejected: (reason) => {
      rejected.set(reason, (rejected.get(reason) ?? 0) + 1);
    },
    refused: (reason) => {
      refused.set(reason, (refused.get(reason) ?? 0) + 1);
    },
    delivered: () => {
      delivered += 1;
    },
    text: (connections) =>
      [
        "# TYPE social_harness_router_connections gauge",
        `social_harness_router_connections ${connections}`,
        "# TYPE social_harness_router_accepted_total counter",
        `social_harness_router_accepted_total ${accepted}`,
        "# TYPE social_harness_router_delivered_total counter",
        `social_harness_router_delivered_total ${delivered}`,
        ...byReason("social_harness_router_rejected_total", rejected),
        ...byReason("social_harness_router_refused_total", refused),
        "",
      ].join("\n"),
  };
};
