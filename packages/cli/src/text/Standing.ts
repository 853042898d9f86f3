// How an endpoint stands, to a person: one line for each thing that can keep posts from going out or items from coming in.

import type { Health } from "../daemon/Readiness.ts";
import { count, type Output } from "../Output.ts";
import { localDate } from "./Cards.ts";
import { visible } from "./Visible.ts";

const routerLine = ({ style }: Output, health: Health): string => {
  const since = health.routerSince === null ? "" : ` since ${localDate(health.routerSince)}`;
  if (health.routerConnected) return `Router   ${style("green", "connected")}${since}`;
  const why = health.routerTrouble === null ? "still trying" : health.routerTrouble.explanation;
  return `Router   ${style("red", "not connected")}${since}: ${visible(why)}`;
};

const addressesShown = 5;

const pendingLine = ({ pendingPosts, pendingAddresses }: Health): string => {
  if (pendingPosts === 0) return "Pending  no posts";
  const shown = pendingAddresses.slice(0, addressesShown).map(visible);
  const more = pendingAddresses.length > addressesShown ? ", ..." : "";
  return `Pending  ${count(pendingPosts, "post")}, to ${shown.join(" ")}${more}`;
};

/** Another instance is over once all have gone on; a Router that went back may do it again. */
const changeLines = (
  { style }: Output,
  { routerChanged, conversationsChanging }: Health,
): ReadonlyArray<string> => {
  if (routerChanged === null) return [];
  const { reason, at, explanation } = routerChanged;
  if (reason === "another-instance" && conversationsChanging === 0) return [];
  const changed = `Router   ${style("yellow", visible(reason))} since ${localDate(at)}: ${visible(explanation)}`;
  if (conversationsChanging === 0) return [changed];
  return [changed, `Rounds   ${count(conversationsChanging, "conversation")} yet to go on in a new round`];
};

/** Said on for good that it was so: who put an old copy back should see that it is over. */
const restoredLines = ({ style }: Output, { restored }: Health): ReadonlyArray<string> => {
  if (restored === null) return [];
  const { at, conversations, explanation } = restored;
  const standing =
    conversations === 0
      ? style("green", "all recovered")
      : style("yellow", `${count(conversations, "conversation")} yet to recover`);
  return [`Restored ${standing}, found ${localDate(at)}: ${visible(explanation)}`];
};

export const standingLines = (output: Output, health: Health): ReadonlyArray<string> => {
  const { routerEquivocations, pendingItems } = health;
  return [
    routerLine(output, health),
    ...restoredLines(output, health),
    ...(routerEquivocations === 0
      ? []
      : [
          `Router   ${output.style("red", "signed two orders")} for ${count(routerEquivocations, "place")}; the proofs are kept: social-harness evidence`,
        ]),
    ...changeLines(output, health),
    pendingLine(health),
    `Inbox    ${pendingItems === 0 ? "nothing waits" : `${count(pendingItems, "item")} unread`}`,
  ];
};
