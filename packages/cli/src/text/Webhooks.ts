// The webhook of an endpoint, to a person.

import type { Output } from "../Output.ts";
import { count } from "../Output.ts";
import type { ResultOf } from "../daemon/ToolResults.ts";
import type { Attempt } from "../daemon/WebhookPaths.ts";
import { localDate } from "./Cards.ts";

type Status = ResultOf<"event_subscription_status">;

export const meanings: Readonly<Record<Extract<Status, { readonly kind: "subscription" }>["state"], string>> =
  {
    active: "items are delivered as they come",
    retrying: "the last attempt failed, and the next one follows by itself",
    suspended: "given up after an hour of failures: `social-harness webhook resume` tries again",
    rejected:
      "the receiver refused a delivery for good: correct it, then `social-harness webhook revoke` and have it subscribe again",
    expired: "its subscriber has not refreshed it in time",
  };

export const statusLines = ({ style }: Output, status: Status): ReadonlyArray<string> => {
  if (status.kind === "none") return ["No webhook is registered."];
  const { state, lastDeliveryAt, failedAttempts, failedSince, lastError } = status;
  const isWell = state === "active";
  const failing =
    failedSince === null
      ? []
      : [`  ${count(failedAttempts, "failed attempt")} since ${localDate(failedSince)}, last: ${lastError}`];
  return [
    `${style(isWell ? "green" : "yellow", state)}  ${meanings[state]}`,
    `  lease until ${localDate(status.refreshBefore)}, last receipt ${lastDeliveryAt === null ? "never" : localDate(lastDeliveryAt)}`,
    ...failing,
    `  ${status.subscriptionId}`,
  ];
};

const attemptLine = ({ at, purpose, category, statusClass, durationMs }: Attempt): string => {
  const status = statusClass === null ? "" : ` ${statusClass}xx`;
  return `${localDate(at)}  ${purpose.padEnd(9)}  ${category}${status}, ${durationMs} ms`;
};

export const attemptLines = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<string> =>
  attempts.length === 0 ? ["Nothing was attempted yet."] : attempts.map(attemptLine);
