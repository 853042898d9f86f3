// Says once that a service's log cannot be used, whatever tries it meanwhile, and once that it can again; and knows at any
// moment whether it can. Decides nothing: what was tried is answered by whoever tried it. Implements RUN-117.

import { LogError } from "./LogError.ts";
import { faultOf, wordOf, type LogFault } from "./SqliteFault.ts";

/**
 * A `main` use is a write of what matters to the service. What is done `beside` it, a read or a small write, may work where
 * that does not: so it ends only a trouble that was seen by nothing else.
 */
export type LogUse = "main" | "beside";

export interface LogTrouble {
  /** Whatever a use of the log threw. That the log is being closed is no trouble. */
  readonly failed: (error: unknown, use?: LogUse) => void;
  /** That use is done, a write on disk. */
  readonly worked: (use?: LogUse) => void;
  /** What is the matter now, or null. */
  readonly standing: () => LogFault | null;
}

type Fields = Readonly<Record<string, string | number>>;

/** What the lines say of the log itself: whose it is, where it stands, and what helps. */
export type AboutLog = (error: unknown) => Fields;

export interface LogTroubleOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly say: (level: "warn" | "error", event: string, fields: Fields) => void;
  /** Asked with what was thrown, and with null when it is over. */
  readonly about?: AboutLog;
}

/** What fails again within this time after it worked is the same trouble: a nearly full disk must not fill the log. */
const relapseMs = 60_000;

interface Trouble {
  readonly since: number;
  readonly use: LogUse;
  readonly fault: LogFault;
  readonly isSaid: boolean;
}

export const makeLogTrouble = ({ clock, say, about = () => ({}) }: LogTroubleOptions): LogTrouble => {
  let trouble: Trouble | null = null;
  let endedAt = -Infinity;
  return {
    failed: (error, use = "main") => {
      const isClosing = error instanceof LogError && error.reason === "closed";
      if (isClosing) return;
      if (trouble !== null) {
        if (use === "main") trouble = { ...trouble, use };
        return;
      }
      const since = clock();
      const isSaid = Math.abs(since - endedAt) > relapseMs;
      trouble = { since, use, fault: wordOf(error), isSaid };
      if (!isSaid) return;
      const known = faultOf(error);
      const explanation = known === null ? String(error) : known.message;
      say("error", "log_unusable", { reason: known?.reason ?? "unknown", explanation, ...about(error) });
    },
    worked: (use = "main") => {
      if (trouble === null || (use === "beside" && trouble.use === "main")) return;
      endedAt = clock();
      const seconds = Math.max(0, Math.round((endedAt - trouble.since) / 1_000));
      if (trouble.isSaid) say("warn", "log_works_again", { seconds, ...about(null) });
      trouble = null;
    },
    standing: () => trouble?.fault ?? null,
  };
};
