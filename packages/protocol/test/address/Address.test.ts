import * as fc from "fast-check";
import type * as Schema from "effect/Schema";
import { expect } from "vitest";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const inputs = VectorFiles.json<{
  readonly accepted: ReadonlyArray<{
    self: AgentName.AgentName;
    input: string;
    members: ReadonlyArray<string>;
    address: string;
  }>;
  readonly refused: ReadonlyArray<{ self: AgentName.AgentName; input: string; reason: string }>;
}>("message_address_input.json");

const accepts = (schema: Schema.Codec<string, string>, value: unknown): boolean => {
  try {
    Closed.decoder(schema)(value);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return false;
  }
  return true;
};

const named = (text: string): AgentName.AgentName => {
  if (!AgentName.is(text)) throw new RangeError(`not a name: ${text}`);
  return text;
};

const name = fc.stringMatching(/^[a-z0-9]{3,6}$/).filter(AgentName.is);
const memberships = fc.uniqueArray(name, { minLength: Limits.membersMin, maxLength: Limits.membersMax });

verifies(["FND-31", "FND-40"], "every valid address of each kind is taken", () => {
  for (const [stem, schema] of [
    ["agent_address", Address.AgentAddress],
    ["group_address", Address.GroupAddress],
    ["message_address", Address.MessageAddress],
  ] as const) {
    const spellings = VectorFiles.lines(`${stem}_valid.txt`);
    expect(spellings.length).toBeGreaterThan(3);
    for (const spelling of spellings) {
      expect(accepts(schema as Schema.Codec<string, string>, spelling), spelling).toBe(true);
      expect(Address.isMessageAddress(spelling), spelling).toBe(true);
    }
  }
});

verifies(["FND-31", "FND-40"], "C67: every invalid address of each kind is refused", () => {
  for (const [stem, schema] of [
    ["agent_address", Address.AgentAddress],
    ["group_address", Address.GroupAddress],
    ["message_address", Address.MessageAddress],
  ] as const) {
    for (const spelling of VectorFiles.lines(`${stem}_invalid.txt`)) {
      expect(accepts(schema as Schema.Codec<string, string>, spelling), JSON.stringify(spelling)).toBe(false);
    }
  }
  for (const spelling of VectorFiles.lines("message_address_invalid.txt")) {
    expect(Address.isMessageAddress(spelling), JSON.stringify(spelling)).toBe(false);
  }
  for (const value of [null, 7, ["agent:abc"], "agent:abc\n", "group:abc,abd,abe\n"]) {
    expect(Address.isMessageAddress(value)).toBe(false);
  }
});

verifies("FND-33", "every accepted input names the stated members and canonical address", () => {
  for (const { self, input, members, address } of inputs.accepted) {
    expect(Address.resolveInput(input, self), input).toEqual({ names: members, address });
  }
});

verifies("FND-33", "every refused input is refused for the stated reason", () => {
  for (const { self, input, reason } of inputs.refused)
    expect(Address.resolveInput(input, self), input).toBe(reason);
});

verifies(
  "FND-32",
  "one membership is one conversation: each member's address leads back to the same names",
  () => {
    fc.assert(
      fc.property(memberships, (members) => {
        const sorted = members.toSorted(AgentName.compare);
        for (const self of members) {
          const address = Address.ofMembers(members, self);
          expect(Address.isMessageAddress(address)).toBe(true);
          expect(Address.membersOf(address, self)).toEqual(sorted);
          expect(Address.ofMembers(sorted.toReversed(), self)).toBe(address);
          expect(Address.resolveInput(address, self)).toEqual({ names: sorted, address });
        }
      }),
      { numRuns: 60 },
    );
  },
);

verifies("FND-32", "a direct address is seen from one side, and leads nowhere from outside", () => {
  const [abc, bob, cat] = [named("abc"), named("bob"), named("cat")];
  expect(Address.ofMembers([abc, bob], abc)).toBe("agent:bob");
  expect(Address.ofMembers([abc, bob], bob)).toBe("agent:abc");
  expect(Address.membersOf(Address.ofAgent(abc), abc)).toBeNull();
  const stranger = named("dan");
  expect(Address.membersOf(Address.ofGroup([abc, bob, cat]), stranger)).toBeNull();
  expect(() => Address.ofMembers([abc], abc)).toThrow(RangeError);
});

verifies("FND-33", "order and the local name never change what an input names", () => {
  fc.assert(
    fc.property(memberships, fc.nat(), fc.boolean(), (members, at, withSelf) => {
      fc.pre(members.length >= Limits.groupMembersMin);
      const self = members[at % members.length] as AgentName.AgentName;
      const written = withSelf ? members : members.filter((member) => member !== self);
      const resolved = Address.resolveInput(`group:${written.join(",")}`, self);
      expect(resolved).toEqual({
        names: members.toSorted(AgentName.compare),
        address: Address.ofGroup(members),
      });
      const repeated = [...written, written[at % written.length]].join(",");
      const expected = written.length < Limits.membersMax ? "membership-invalid" : expect.any(String);
      expect(Address.resolveInput(`group:${repeated}`, self)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

verifies(
  ["FND-33", "FND-40"],
  "three and thirty-two members make a group; two and thirty-three do not",
  () => {
    const names = Array.from({ length: 33 }, (_, i) => named(`agent-${String(i).padStart(2, "0")}`));
    const self = names[0] as AgentName.AgentName;
    for (const count of [3, 32]) {
      expect(Address.resolveInput(`group:${names.slice(1, count).join(",")}`, self)).toBeTypeOf("object");
    }
    for (const count of [2, 33]) {
      expect(Address.resolveInput(`group:${names.slice(1, count).join(",")}`, self)).toBe(
        "membership-invalid",
      );
    }
  },
);

verifies(["FND-31", "FND-04"], "any text is an address in canonical spelling, or none", () => {
  const character = fc.constantFrom(..."agentgroup:,-abc012 A\u0430\n");
  fc.assert(
    fc.property(
      fc.string({ unit: character, maxLength: 24 }),
      fc.constantFrom("", "agent:", "group:"),
      (rest, prefix) => {
        const text = prefix + rest;
        if (!Address.isMessageAddress(text)) return;
        const self = named("someone-else");
        if (text.startsWith("agent:"))
          expect(Address.ofMembers([self, named(text.slice(6))], self)).toBe(text);
        else expect(Address.ofGroup(text.slice(6).split(",").map(named))).toBe(text);
      },
    ),
    { numRuns: 5_000 },
  );
});
