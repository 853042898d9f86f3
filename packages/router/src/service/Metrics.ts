// What the Router counts, for whoever operates it. Counts only: no agent and no lane appears in it.

import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import type { RefusedReason, RejectedReason } from "../wire/Frames.ts";

export interface Metrics {
  readonly accepted: () => void;
  readonly rejected: (reason: RejectedReason) => void;
  readonly refused: (reason: RefusedReason) => void;
  readonly delivered: () => void;
  /** `surroundings` stand behind what is counted here. */
  readonly text: (standing: Standing, surroundings: ReadonlyArray<PrometheusText.Family>) => string;
}

export interface Standing {
  readonly connections: number;
  readonly logUsable: boolean;
}

export const makeMetrics = (): Metrics => {
  let accepted = 0;
  let delivered = 0;
  const rejected = new Map<RejectedReason, number>();
  const refused = new Map<RefusedReason, number>();
  const { single, counterBy } = PrometheusText;

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
    text: ({ connections, logUsable }, surroundings) =>
      PrometheusText.encode([
        single(
          "gauge",
          "social_harness_router_log_usable",
          "0 while the log cannot be used.",
          Number(logUsable),
        ),
        single("gauge", "social_harness_router_connections", "Agents that are connected.", connections),
        single("counter", "social_harness_router_accepted_total", "Envelopes put on disk.", accepted),
        single("counter", "social_harness_router_delivered_total", "Copies handed to agents.", delivered),
        counterBy(
          "social_harness_router_rejected_total",
          "Envelopes that were not taken, by reason.",
          "reason",
          rejected,
        ),
        counterBy(
          "social_harness_router_refused_total",
          "Connections that were not taken, by reason.",
          "reason",
          refused,
        ),
        ...surroundings,
      ]),
  };
};
