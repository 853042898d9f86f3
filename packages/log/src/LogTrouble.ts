// Says once that a service's log cannot be used, whatever tries it meanwhile, and once that it can again. Decides nothing:
// what was tried is answered by whoever tried it. Implements RUN-117.

import { LogError } from "./LogError.ts";

export interface LogTrouble {
  /** Whatever a use of the log threw. That the log is being closed is no trouble. */
  readonly failed: (error: unknown) => void;
  /** A write of what matters to the service is on disk: a small one beside it may fit where that does not. */
  readonly worked: () => void;
}

export interface LogTroubleOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly say: (
    level: "warn" | "error",
    event: string,
    fields: Readonly<Record<string, string | number>>,
  ) => void;
}

/** What fails again within this time after it worked is the same trouble: a nearly full disk must not fill the log. */
const relapseMs = 60_000;

export const makeLogTrouble = ({ clock, say }: LogTroubleOptions): LogTrouble => {
  let since: number | null = null;
  let isSaid = false;
  let endedAt = -Infinity;
  return {
    failed: (error) => {
      const isClosing = error instanceof LogError && error.reason === "closed";
      if (since !== null || isClosing) return;
      since = clock();
      isSaid = Math.abs(since - endedAt) > relapseMs;
      if (!isSaid) return;
      const reason = error instanceof LogError ? error.reason : "unknown";
      say("error", "log_unusable", { reason, explanation: String(error) });
    },
    worked: () => {
      if (since === null) return;
      endedAt = clock();
      if (isSaid)
        say("warn", "log_works_again", { seconds: Math.max(0, Math.round((endedAt - since) / 1_000)) });
      since = null;
    },
  };
};
