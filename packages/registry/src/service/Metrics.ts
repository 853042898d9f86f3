// What the Registry counts, for whoever operates it. Counts only: no agent and no invite appears in it.

import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import type { ErrorCode, RegisterAnswer } from "../Wire.ts";

export interface Metrics {
  readonly answered: () => void;
  readonly refused: (code: ErrorCode) => void;
  readonly registration: (result: RegisterAnswer["kind"]) => void;
  /** `surroundings` stand behind what is counted here. */
  readonly text: (standing: Standing, surroundings: ReadonlyArray<PrometheusText.Family>) => string;
}

export interface Standing {
  readonly agents: number;
  readonly logUsable: boolean;
}

export const makeMetrics = (): Metrics => {
  let answered = 0;
  const refused = new Map<ErrorCode, number>();
  const registrations = new Map<RegisterAnswer["kind"], number>();
  const { single, counterBy } = PrometheusText;
  return {
    answered: () => {
      answered += 1;
    },
    refused: (code) => {
      refused.set(code, (refused.get(code) ?? 0) + 1);
    },
    registration: (result) => {
      registrations.set(result, (registrations.get(result) ?? 0) + 1);
    },
    text: ({ agents, logUsable }, surroundings) =>
      PrometheusText.encode([
        single(
          "gauge",
          "social_harness_registry_log_usable",
          "0 while the log cannot be used.",
          Number(logUsable),
        ),
        single("gauge", "social_harness_registry_agents", "Agents that are registered.", agents),
        single("counter", "social_harness_registry_answered_total", "Requests that were answered.", answered),
        counterBy(
          "social_harness_registry_refused_total",
          "Requests that were refused, by error.",
          "error",
          refused,
        ),
        counterBy(
          "social_harness_registry_registrations_total",
          "Registrations that were decided, by result.",
          "result",
          registrations,
        ),
        ...surroundings,
      ]),
  };
};
