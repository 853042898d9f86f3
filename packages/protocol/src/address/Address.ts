// The public names of conversations: `agent:<name>` and `group:<name>,<name>,...`. The same set of agents is the same
// conversation for ever, so an address is a membership seen from one member. Implements FND-31 to FND-33.

import * as Schema from "effect/Schema";
import * as AgentName from "../identity/AgentName.ts";
import * as Limits from "../Limits.ts";

const namesOf = (text: string): ReadonlyArray<AgentName.AgentName> | null => {
  const names = text.split(",");
  return names.every(AgentName.is) ? (names as ReadonlyArray<AgentName.AgentName>) : null;
};

const isAgentAddress = (text: string): boolean => text.startsWith("agent:") && AgentName.is(text.slice(6));

const isGroupAddress = (text: string): boolean => {
  if (!text.startsWith("group:") || text.length > 6 + 33 * Limits.membersMax) return false;
  const names = namesOf(text.slice(6));
  return (
    names !== null &&
    names.length >= Limits.groupMembersMin &&
    names.length <= Limits.membersMax &&
    names.every((name, i) => i === 0 || AgentName.compare(names[i - 1] as AgentName.AgentName, name) < 0)
  );
};

const expecting = (test: (text: string) => boolean, expected: string) =>
  Schema.makeFilter<string>((text) => test(text) || expected);

export const AgentAddress = Schema.String.check(expecting(isAgentAddress, "expected agent:<name>")).pipe(
  Schema.brand("AgentAddress"),
);
export type AgentAddress = typeof AgentAddress.Type;

export const GroupAddress = Schema.String.check(
  expecting(isGroupAddress, "expected group:<name>,<name>,... with 3 to 32 names in increasing order"),
).pipe(Schema.brand("GroupAddress"));
export type GroupAddress = typeof GroupAddress.Type;

export const MessageAddress = Schema.Union([AgentAddress, GroupAddress]);
export type MessageAddress = AgentAddress | GroupAddress;

export const isMessageAddress = (value: unknown): value is MessageAddress =>
  typeof value === "string" && (isAgentAddress(value) || isGroupAddress(value));

export const ofAgent = (name: AgentName.AgentName): AgentAddress => `agent:${name}` as AgentAddress;

/** The group address of a complete membership of at least three names. */
export const ofGroup = (names: ReadonlyArray<AgentName.AgentName>): GroupAddress =>
  `group:${[...names].sort(AgentName.compare).join(",")}` as GroupAddress;

/** The address under which `self` sees the conversation of `names` (self included). */
export const ofMembers = (
  names: ReadonlyArray<AgentName.AgentName>,
  self: AgentName.AgentName,
): MessageAddress => {
  if (names.length > 2) return ofGroup(names);
  const peer = names.find((name) => name !== self);
  if (peer === undefined) throw new RangeError("a conversation has at least two members");
  return ofAgent(peer);
};

/** The complete membership that a canonical address names for `self`, or null when `self` is not part of it. */
export const membersOf = (
  address: MessageAddress,
  self: AgentName.AgentName,
): ReadonlyArray<AgentName.AgentName> | null => {
  if (address.startsWith("agent:")) {
    const peer = address.slice(6) as AgentName.AgentName;
    return peer === self ? null : [self, peer].sort(AgentName.compare);
  }
  const names = namesOf(address.slice(6)) as ReadonlyArray<AgentName.AgentName>;
  return names.includes(self) ? names : null;
};

/** What went wrong with a sender's spelling of a destination. */
export type AddressInputProblem = "invalid-address" | "membership-invalid";

/**
 * Reads what a sender may write: `agent:<name>`, or `group:` with names in any order and the local name optional.
 * An explicit repetition, the local agent alone and a wrong number of members are refused (FND-33).
 */
export const resolveInput = (
  text: string,
  self: AgentName.AgentName,
):
  | { readonly names: ReadonlyArray<AgentName.AgentName>; readonly address: MessageAddress }
  | AddressInputProblem => {
  if (isAgentAddress(text)) {
    const peer = text.slice(6) as AgentName.AgentName;
    if (peer === self) return "membership-invalid";
    return { names: [self, peer].sort(AgentName.compare), address: ofAgent(peer) };
  }
  if (!text.startsWith("group:") || text.length > 6 + 33 * (Limits.membersMax + 1)) return "invalid-address";
  const written = namesOf(text.slice(6));
  if (written === null) return "invalid-address";
  if (new Set(written).size !== written.length) return "membership-invalid";
  const names = [...new Set([...written, self])].sort(AgentName.compare);
  if (names.length < Limits.groupMembersMin || names.length > Limits.membersMax) return "membership-invalid";
  return { names, address: ofGroup(names) };
};
