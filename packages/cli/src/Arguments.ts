// What stands on the command line, checked before anything is asked or made: a typing mistake is wrong usage and says what
// was expected, whether or not a daemon runs. What only a daemon can know (who is registered, what was delivered) is not
// decided here. Implements RUN-18.

import * as Schema from "effect/Schema";
import * as Address from "@social-harness/protocol/address/Address";
import * as AgentNames from "@social-harness/protocol/identity/AgentName";
import * as Identifier from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import * as HoldId from "@social-harness/endpoint/firewall/HoldId";
import * as InboxCursor from "@social-harness/endpoint/ingress/InboxCursor";
import { NamePrefix } from "@social-harness/registry/Wire";
import { misused, type Failure } from "./Failure.ts";
import { oneLine } from "./text/Visible.ts";

const nameRule = "A name has 3 to 32 of a-z and 0-9, with single hyphens inside.";
const addressRule = "Write agent:<name>, or group:<name>,<name>,... for a group.";

const quoted = (text: string): string => `"${oneLine(text, 60)}"`;
const isNo = (text: string, what: string, next: string): Failure =>
  misused(`${quoted(text)} is no ${what}`, next);

const checked =
  <T extends string>(is: (text: string) => boolean, what: string, next: string) =>
  (text: string): T => {
    if (is(text)) return text as T;
    throw isNo(text, what, next);
  };

export const agentName = checked<AgentNames.AgentName>(AgentNames.is, "agent name", nameRule);

/** The form of an id whose letters all belong into one, with one of them wrong: not every last letter can end one. */
const isMistyped = (text: string, prefix: string, letters: number): boolean =>
  new RegExp(`^${prefix}[A-Za-z0-9_-]{${letters}}$`).test(text);

const identifier =
  <T extends string>(
    id: { readonly is: (text: unknown) => text is T },
    { what, prefix, letters, next }: { what: string; prefix: string; letters: number; next: string },
  ) =>
  (text: string): T => {
    if (id.is(text)) return text;
    const form = isMistyped(text, prefix, letters)
      ? "It has the right length, but a letter of it is wrong: none ends so."
      : `It is ${prefix} and ${letters} characters.`;
    throw isNo(text, what, `${form} ${next}`);
  };

export const agentId = identifier(Identifier.AgentId, {
  what: "agent id",
  prefix: "agt_",
  letters: 22,
  next: "Copy it from `social-harness agents`; for a name there is --name.",
});

export const namePrefix = checked<string>(
  Schema.is(NamePrefix),
  "beginning of a name",
  "Names consist of a-z, 0-9 and hyphens, at most 32 of them.",
);

export const conversationId = identifier(Identifier.ConversationId, {
  what: "conversation id",
  prefix: "cnv_",
  letters: 43,
  next: `Copy it from the log, or name the conversation by its address. ${addressRule}`,
});

export const principalId = identifier(Identifier.PrincipalId, {
  what: "principal",
  prefix: "prn_",
  letters: 22,
  next: "Leave it out to get a new one.",
});

export const deliveryToken = identifier(Identifier.DeliveryToken, {
  what: "delivery token",
  prefix: "dlv_",
  letters: 43,
  next: "Copy it from `social-harness inbox`.",
});

export const holdId = identifier(HoldId, {
  what: "hold id",
  prefix: HoldId.prefix,
  letters: 22,
  next: "Copy it from `social-harness hold list`.",
});

export const postId = identifier(Identifier.PostId, {
  what: "post id",
  prefix: "pst_",
  letters: 43,
  next: "Copy it from what `send` printed, or from `social-harness status`.",
});

export const recordHash = identifier(Identifier.RecordHash, {
  what: "record hash",
  prefix: "rch_",
  letters: 43,
  next: "Copy it from `social-harness history <address>`.",
});

export const inboxCursor = checked<string>(
  InboxCursor.is,
  "cursor",
  "Copy it from the end of the page before, or leave it out for the first page.",
);

export const idempotencyKey = checked<string>(
  (key) => key !== "" && Buffer.byteLength(key) <= Limits.idempotencyKeyBytesMax && !key.includes("\0"),
  "idempotency key",
  `A key has 1 to ${Limits.idempotencyKeyBytesMax} bytes.`,
);

/** The names in an address, in the order in which they stand. */
const namesOf = (text: string): ReadonlyArray<AgentNames.AgentName> => {
  if (AgentNames.is(text)) throw isNo(text, "address", `That is a name: write agent:${text}.`);
  if (text.startsWith("agent:")) return [agentName(text.slice("agent:".length))];
  if (!text.startsWith("group:")) throw isNo(text, "address", addressRule);
  return text.slice("group:".length).split(",").map(agentName);
};

/** Where a post goes. Whether these agents can be one conversation is the daemon's to say: it knows its own name. */
export const destination = (text: string): string => {
  namesOf(text);
  return text;
};

/** The one address of a conversation, as `history` lists it. */
export const conversation = (text: string): Address.MessageAddress => {
  const names = namesOf(text);
  if (Address.isMessageAddress(text)) return text;
  const distinct = [...new Set(names)];
  const isGroup = distinct.length >= Limits.groupMembersMin && distinct.length <= Limits.membersMax;
  throw isNo(
    text,
    "conversation's address",
    isGroup
      ? `A group's names stand in order, each once: write ${Address.ofGroup(distinct)}.`
      : `A group's address names all its members, yourself included, ${Limits.groupMembersMin} to ${Limits.membersMax} of them.`,
  );
};
