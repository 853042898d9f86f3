// The webhook of an endpoint, to a person: how it stands, what its calls came to, and what to do next. Implements ING-200,
// ING-201, ING-204, ING-210 and ING-211.

import type { StateOptions } from "../daemon/Profile.ts";
import type { Health } from "../daemon/Readiness.ts";
import type { ResultOf } from "../daemon/ToolResults.ts";
import type { Attempts } from "../daemon/WebhookPaths.ts";
import { count, type Output } from "../Output.ts";
import { localDate, localTime } from "./Cards.ts";
import { naming } from "./Hints.ts";
import { failureOf } from "./WebhookFailures.ts";

type Status = ResultOf<"event_subscription_status">;
type Standing = NonNullable<Health["webhook"]>;

const restingWords =
  'nothing is delivered in mode trusted-local: start the daemon with --mode credentials, or put "mode": "credentials" into config.json';

const lastFailure = ({ lastError, lastStatus }: Standing): string =>
  lastError === null ? "it failed" : failureOf(lastError, lastStatus).what;

/** What the state means, and what to do about it where it does not pass by itself. */
const meaningOf = (standing: Standing): string => {
  switch (standing.state) {
    case "active":
      return "items are delivered as they come";
    case "retrying":
      return "the last attempt failed, and the next one follows by itself";
    case "suspended":
      return "given up after an hour of failures: `social-harness webhook resume` tries again";
    case "rejected":
      return `${lastFailure(standing)}, which is for good: correct the receiver, then \`social-harness webhook revoke\` and have its host subscribe again`;
    case "expired":
      return "its host has not refreshed it in time: have it subscribe again, or end it with `social-harness webhook revoke`";
  }
};

/** In a few words, for whoever reports on more than the webhook. */
export const standingWords = (standing: Standing): string =>
  standing.resting === null ? `${standing.state}: ${meaningOf(standing)}` : `resting: ${restingWords}`;

const isWell = ({ state, resting }: Standing): boolean => state === "active" && resting === null;

const waiting = (items: number): string => {
  if (items === 0) return "nothing waits";
  return items === 1 ? "1 item waits" : `${items} items wait`;
};

const failingLines = ({ failedSince, failedAttempts, lastError, lastStatus }: Standing) =>
  failedSince === null || lastError === null
    ? []
    : [
        `  ${count(failedAttempts, "failed attempt")} since ${localTime(failedSince)}, last: ${failureOf(lastError, lastStatus).what}`,
        `  ${failureOf(lastError, lastStatus).next}`,
      ];

const headLines = ({ style }: Output, standing: Standing): ReadonlyArray<string> => {
  const { state, resting } = standing;
  const line = `${style(isWell(standing) ? "green" : "yellow", state)}  ${meaningOf(standing)}`;
  return resting === null
    ? [line]
    : [`${style("yellow", "resting")}  ${restingWords}`, `  without that ${line}`];
};

export const statusLines = (output: Output, status: Status, named: StateOptions): ReadonlyArray<string> => {
  if (status.kind === "none") return ["No webhook is registered."];
  const { state, refreshBefore, lastDeliveryAt, nextAttemptAt, waitingItems } = status;
  const next = nextAttemptAt === null ? "" : `, next attempt ${localTime(nextAttemptAt)}`;
  const lines = [
    ...headLines(output, status),
    `  ${waiting(waitingItems)}${next}`,
    ...failingLines(status),
    `  lease ${state === "expired" ? "ended" : "until"} ${localDate(refreshBefore)}, last receipt ${lastDeliveryAt === null ? "never" : localDate(lastDeliveryAt)}`,
    `  ${status.subscriptionId}`,
  ];
  return lines.map((line) => naming(named, line));
};

/** Among the lines of `status`: the inbox's own line says how many items wait. */
export const webhookLines = ({ style }: Output, { webhook }: Health): ReadonlyArray<string> => {
  if (webhook === null) return [];
  const { state, resting, nextAttemptAt } = webhook;
  if (resting !== null) return [`Webhook  ${style("yellow", "resting")}: ${restingWords}`];
  if (isWell(webhook)) return [`Webhook  ${style("green", state)}`];
  const why = state === "retrying" ? lastFailure(webhook) : meaningOf(webhook);
  const next = nextAttemptAt === null ? "" : `; next attempt ${localTime(nextAttemptAt)}`;
  return [`Webhook  ${style("yellow", state)}: ${why}${next}`];
};

/** `waitingItems` is how many there were before. */
export const resumedLine = (waitingItems: number): string =>
  waitingItems === 0
    ? "Resumed: nothing waits."
    : `Resumed: ${waiting(waitingItems)}${waitingItems === 1 ? " and" : ", and the first"} is tried now.`;

export const passedLine = (durationMs: number, isResting: boolean): string =>
  `The callback answered its challenge in ${durationMs} ms.${isResting ? ` Even so ${restingWords}.` : ""}`;

const attemptLine = ({
  at,
  purpose,
  category,
  status,
  eventId,
  durationMs,
}: Attempts["attempts"][number]) => {
  const answered = status === null ? "" : ` ${status}`;
  const event = eventId === null ? "" : `  ${eventId}`;
  return `${localTime(at)}  ${purpose.padEnd(9)}  ${category}${answered}, ${durationMs} ms${event}`;
};

export const attemptLines = ({ attempts, earlier }: Attempts): ReadonlyArray<string> =>
  attempts.length === 0
    ? ["Nothing was attempted yet."]
    : [...(earlier === 0 ? [] : [`(${earlier} earlier: --limit shows more)`]), ...attempts.map(attemptLine)];
