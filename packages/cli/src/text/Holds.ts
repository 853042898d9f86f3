// Held messages, to a person. What others wrote stands behind a margin, with its controls made visible, and so does what a checker
// said of it.

import type { Health } from "../daemon/Readiness.ts";
import type { ResultOf } from "../daemon/ToolResults.ts";
import type { Output } from "../Output.ts";
import { localDate } from "./Cards.ts";
import { contentLines } from "./Items.ts";
import { oneLine } from "./Visible.ts";

type Page = ResultOf<"list_holds">;
type Hold = Page["holds"][number];

const why = ({ reason, rule, explanation }: Hold): string => {
  const by = rule === undefined ? reason : `${reason} ${rule}`;
  return explanation === undefined ? by : `${by}: ${oneLine(explanation, 200)}`;
};

const holdLines = ({ style }: Output, hold: Hold): ReadonlyArray<string> => {
  const sender = hold.sender.slice("agent:".length);
  const where = hold.address.startsWith("group:") ? ` in ${hold.address}` : "";
  const when = style("dim", `${localDate(hold.heldAt)}  ${hold.bytes} bytes`);
  return [`${style("bold", sender)}${where}  ${style("dim", hold.holdId)}  ${when}`, `    ${why(hold)}`];
};

export const holdPageLines = (output: Output, { holds, hasMore, queued }: Page): ReadonlyArray<string> => {
  const waiting = queued === 0 ? [] : [`${queued} more ${queued === 1 ? "is" : "are"} being judged.`];
  if (holds.length === 0) return ["Nothing is held.", ...waiting];
  const last = holds.at(-1) as Hold;
  const more = hasMore ? [`There are more: \`social-harness hold list --after ${last.holdId}\``] : [];
  return [...holds.flatMap((hold) => holdLines(output, hold)), ...more, ...waiting];
};

/** Whoever expected something to be held may have written the file into another folder. */
export const withoutFirewall = ({ firewall }: Pick<Health, "firewall">): ReadonlyArray<string> =>
  firewall === null || firewall.file === "absent"
    ? ["There is no firewall: the state folder has no firewall.json (docs/firewall.md)."]
    : [];

export const holdContentLines = (
  output: Output,
  { hold, state, endedAt, item }: ResultOf<"read_hold">,
): ReadonlyArray<string> => {
  const ended = endedAt === undefined ? [] : [output.style("yellow", `${state} at ${localDate(endedAt)}`)];
  const content = item.kind === "operationFailed" ? [] : [contentLines(item.message.content)];
  return [...holdLines(output, hold), ...ended, "", ...content];
};

/** `asked`: what was to be done, which may have come too late. */
export const endedLine = (
  { holdId, kind }: { readonly holdId: string; readonly kind: "discarded" | "released" },
  asked: "discard" | "release",
): string => (kind.startsWith(asked) ? `${holdId} is ${kind}` : `${holdId} was ${kind} before, and stays so`);
