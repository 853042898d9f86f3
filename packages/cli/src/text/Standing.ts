// How an endpoint stands, to a person: one line for each thing that can keep posts from going out or items from coming in.

import type { StateOptions } from "../daemon/Profile.ts";
import type { Health, PendingPost } from "../daemon/Readiness.ts";
import { count, type Output } from "../Output.ts";
import { localDate } from "./Cards.ts";
import { contactsLine } from "./Contacts.ts";
import { naming } from "./Hints.ts";
import { visible } from "./Visible.ts";
import { webhookLines } from "./Webhooks.ts";

const routerLine = ({ style }: Output, health: Health): string => {
  const since = health.routerSince === null ? "" : ` since ${localDate(health.routerSince)}`;
  const { routerConnected, routerRefusing } = health;
  if (routerConnected && routerRefusing !== null) {
    const said = `${style("red", "connected, and takes nothing")} since ${localDate(routerRefusing.since)}`;
    return `Router   ${said}: ${visible(routerRefusing.explanation)}`;
  }
  if (routerConnected) return `Router   ${style("green", "connected")}${since}`;
  const why = health.routerTrouble === null ? "still trying" : health.routerTrouble.explanation;
  return `Router   ${style("red", "not connected")}${since}: ${visible(why)}`;
};

const addressesShown = 5;

const postsShown = 5;

const postLine = ({ postId, address, withdrawing, recovering, unsigned }: PendingPost): string => {
  const waits = recovering
    ? "its conversation has yet to recover"
    : unsigned === null
      ? "not proposed yet"
      : unsigned.length === 0
        ? "signed by all"
        : `not signed yet by ${unsigned.join(", ")}`;
  return `         ${postId} to ${visible(address)}: ${waits}${withdrawing ? "; being withdrawn" : ""}`;
};

const pendingLines = (health: Health): ReadonlyArray<string> => {
  const { pendingPosts, pendingAddresses, withdrawingPosts, pending } = health;
  if (pendingPosts === 0) return ["Pending  no posts"];
  const shown = pendingAddresses.slice(0, addressesShown).map(visible);
  const more = pendingAddresses.length > addressesShown ? ", ..." : "";
  const withdrawn = withdrawingPosts === 0 ? "" : `; ${withdrawingPosts} being withdrawn`;
  return [
    `Pending  ${count(pendingPosts, "post")}, to ${shown.join(" ")}${more}${withdrawn}`,
    ...pending.slice(0, postsShown).map(postLine),
  ];
};

/** What the log of a Router did, for the reasons that this version knows. */
const changes: Readonly<Record<string, string>> = {
  "another-instance": "began anew",
  "rolled-back": "went back",
};

export const changeWords = (reason: string): string =>
  Object.hasOwn(changes, reason) ? (changes[reason] as string) : visible(reason);

/** Another instance is over once all have gone on; a Router that went back may do it again. */
const changeLines = (
  { style }: Output,
  { routerChanged, conversationsChanging }: Health,
): ReadonlyArray<string> => {
  if (routerChanged === null) return [];
  const { reason, at, explanation } = routerChanged;
  if (reason === "another-instance" && conversationsChanging === 0) return [];
  const changed = `Its log  ${style("yellow", changeWords(reason))} ${localDate(at)}: ${visible(explanation)}`;
  if (conversationsChanging === 0) return [changed];
  return [changed, `Rounds   ${count(conversationsChanging, "conversation")} yet to go on in a new round`];
};

/** The addresses that the daemon names are all shown: nothing else tells which conversations wait. */
const restoredLines = ({ style }: Output, { restored }: Health): ReadonlyArray<string> => {
  if (restored === null) return [];
  const { at, conversations, addresses, explanation } = restored;
  const standing =
    conversations === 0
      ? style("green", "all known conversations recovered")
      : style("yellow", `${count(conversations, "conversation")} yet to recover`);
  const more = conversations > addresses.length ? [`${conversations - addresses.length} more`] : [];
  return [
    `Restored ${standing}, found ${localDate(at)}: ${visible(explanation)}`,
    ...[...addresses.map(visible), ...more].map((address) => `         ${address}`),
  ];
};

const storeLines = ({ style }: Output, { storeTrouble }: Health): ReadonlyArray<string> => {
  if (storeTrouble === null) return [];
  const { reason, since, explanation } = storeTrouble;
  return [`Store    ${style("red", visible(reason))} since ${localDate(since)}: ${visible(explanation)}`];
};

/** Of a firewall, or of what one has left. */
export const firewallLines = (
  { style }: Output,
  { firewall }: Pick<Health, "firewall">,
): ReadonlyArray<string> => {
  if (firewall === null) return [];
  const { file, explanation, heldItems, queuedItems } = firewall;
  const lead = {
    absent: "no firewall.json; ",
    usable: explanation === null ? "" : `${style("yellow", "the checker is not complete")}; `,
    unusable: `${style("red", "firewall.json cannot be used")}; `,
  }[file];
  const why = explanation === null ? [] : [`         ${visible(explanation)}`];
  const held =
    heldItems === 0 ? "nothing held" : `${count(heldItems, "message")} held: \`social-harness hold list\``;
  const queued = queuedItems === 0 ? "" : `; ${queuedItems} being judged`;
  return [`Firewall ${lead}${held}${queued}`, ...why];
};

/** `named` is the endpoint as the command named it, for the commands that the lines speak of. */
export const standingLines = (output: Output, health: Health, named: StateOptions): ReadonlyArray<string> => {
  const { routerEquivocations, pendingItems } = health;
  const caught = output.style("red", "signed two orders");
  const lines = [
    ...storeLines(output, health),
    routerLine(output, health),
    ...restoredLines(output, health),
    ...(routerEquivocations === 0
      ? []
      : [
          `Caught   it ${caught} for ${count(routerEquivocations, "place")}; the proofs are kept: \`social-harness evidence\``,
        ]),
    ...changeLines(output, health),
    ...pendingLines(health),
    `Inbox    ${pendingItems === 0 ? "nothing waits" : `${count(pendingItems, "item")} unread`}`,
    ...firewallLines(output, health),
    ...webhookLines(output, health),
    contactsLine(health),
  ];
  return lines.map((line) => naming(named, line));
};
