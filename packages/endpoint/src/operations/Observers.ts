// Who is told of what an endpoint does: its counts always, and a tracer where somebody wants traces. Implements RUN-154.

import type { Tracer } from "@social-harness/router/Tracer";
import type { Observer } from "../conversations/ActiveAgent.ts";
import type { AttemptRow } from "../webhooks/Attempts.ts";
import type { Metrics } from "./Metrics.ts";

export interface Observers extends Observer {
  /** A call to the webhook's receiver came to an end. */
  readonly attempted: (attempt: AttemptRow) => void;
}

export const create = (metrics: Metrics, tracer?: Tracer): Observers => {
  if (tracer === undefined) return metrics;
  return {
    certified: metrics.certified,
    ended: (post, takenAt, endedAt) => {
      metrics.ended(post, takenAt, endedAt);
      const { postId, outcome } = post;
      tracer({
        name: "post",
        startedAt: takenAt,
        endedAt,
        failed: outcome === "certified" ? null : outcome,
        attributes: { outcome },
        postId,
      });
    },
    attempted: (attempt) => {
      metrics.attempted(attempt);
      const { at, purpose, category, status, durationMs } = attempt;
      tracer({
        name: `webhook ${purpose}`,
        startedAt: at,
        endedAt: at + durationMs,
        failed: category === "received" ? null : category,
        attributes: status === null ? {} : { "http.response.status_code": status },
      });
    },
  };
};
