// List files for agent names and canonical addresses, and a JSON file for what a sender may write, which depends on who
// writes it.

import { type Files, json, lines } from "./Family.ts";

const name32 = "a".repeat(32);

const validNames = [
  "abc",
  "a-b",
  "a1b",
  "123",
  "1-2-3-4",
  "alvarez-agent",
  "x0-y1-z2",
  name32,
  `${"a-".repeat(15)}bc`,
];

/** Twins, spaces and signs that must never pass for a name (case C67). */
const invalidNames = [
  "",
  "a",
  "ab",
  "a".repeat(33),
  "Abc",
  "ABC",
  "-abc",
  "abc-",
  "a--b",
  "---",
  "a_b",
  "a.b",
  "abc.",
  "a b",
  " abc",
  "abc ",
  "abc\t",
  "abc\r",
  "abc\0",
  "a,b",
  "agent:abc",
  "@abc",
  "a/b",
  "ab\u0441",
  "\u0430bc",
  "ab\u0456",
  "abc\u0301",
  "\u00e9ab",
  "\uff41\uff42\uff43",
  "ab\u200bc",
  "abc\u200d",
  "ab\u202ec",
  "\u2066abc\u2069",
  "\ufeffabc",
  "a\u00adbc",
  "a\u2010b",
  "a\u2011b",
  "a\u2212b",
  "\u{1d5ba}\u{1d5bb}\u{1d5bc}",
  "ab\u0661",
  "ab\u00b2",
  "\u017fab",
  "\u212aab",
  "stra\u00dfe",
  "xn--abc",
];

const names = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `m${String(i).padStart(2, "0")}`);
const group = (members: ReadonlyArray<string>): string => `group:${members.join(",")}`;
const longGroup = (count: number): string => group(names(count).map((name) => name + "x".repeat(29)));

const validAgents = validNames.map((name) => `agent:${name}`);

const invalidAgents = [
  ...invalidNames.map((name) => `agent:${name}`),
  "agent",
  "abc",
  "Agent:abc",
  "AGENT:abc",
  " agent:abc",
  "agent :abc",
  "agent: abc",
  "agent::abc",
  "agent/abc",
  "agent:abc,abd",
  "agent:abc,",
  "agents:abc",
  "group:abc",
];

const validGroups = [
  "group:abc,abd,abe",
  "group:a-b,a1b,abc",
  "group:abc,abc-d,abcd",
  "group:012,a12,z12",
  group(names(4)),
  group(names(32)),
  longGroup(32),
];

const invalidGroups = [
  "group",
  "group:",
  "group:abc",
  "group:abc,abd",
  group(names(33)),
  longGroup(33),
  "group:abd,abc,abe",
  "group:abc,abe,abd",
  "group:abc,abc,abd",
  "group:abc,abd,abd",
  "group:abcd,abc-d,abce",
  "group:a1b,a-b,abc",
  "group:abc, abd,abe",
  "group:abc,abd,abe ",
  "group:abc,abd,abe,",
  "group:,abc,abd,abe",
  "group:abc,,abd,abe",
  "group:abc;abd;abe",
  "group:abc,abd,\u0430be",
  "group:abc,abd,Abe",
  "group:agent:abc,agent:abd,agent:abe",
  "Group:abc,abd,abe",
  "groups:abc,abd,abe",
  "agent:abc",
];

const inputs = {
  about:
    "What the agent `self` may write as a destination, the complete membership that it names and its canonical address.",
  accepted: [
    { self: "bob", input: "agent:abc", members: ["abc", "bob"], address: "agent:abc" },
    { self: "bob", input: "group:cat,abc", members: ["abc", "bob", "cat"], address: "group:abc,bob,cat" },
    { self: "bob", input: "group:cat,bob,abc", members: ["abc", "bob", "cat"], address: "group:abc,bob,cat" },
    { self: "bob", input: "group:abc,bob,cat", members: ["abc", "bob", "cat"], address: "group:abc,bob,cat" },
    { self: "m00", input: group(names(32)), members: names(32), address: group(names(32)) },
    { self: "m31", input: group(names(31).toReversed()), members: names(32), address: group(names(32)) },
  ],
  refused: [
    { self: "bob", input: "", reason: "invalid-address" },
    { self: "bob", input: "abc", reason: "invalid-address" },
    { self: "bob", input: "agent:Abc", reason: "invalid-address" },
    { self: "bob", input: "agent:abc ", reason: "invalid-address" },
    { self: "bob", input: "agent:\u0430bc", reason: "invalid-address" },
    { self: "bob", input: "agent:bob", reason: "membership-invalid" },
    { self: "bob", input: "group:", reason: "invalid-address" },
    { self: "bob", input: "group:abc,", reason: "invalid-address" },
    { self: "bob", input: "group:abc, cat", reason: "invalid-address" },
    { self: "bob", input: "group:abc", reason: "membership-invalid" },
    { self: "bob", input: "group:bob", reason: "membership-invalid" },
    { self: "bob", input: "group:abc,bob", reason: "membership-invalid" },
    { self: "bob", input: "group:abc,cat,abc", reason: "membership-invalid" },
    { self: "bob", input: "group:bob,abc,bob", reason: "membership-invalid" },
    { self: "bob", input: group(names(32)), reason: "membership-invalid" },
    { self: "m00", input: group(names(33)), reason: "membership-invalid" },
  ],
};

export const files = (): Files =>
  new Map([
    ["agent_name_valid.txt", lines(validNames)],
    ["agent_name_invalid.txt", lines(invalidNames)],
    ["agent_address_valid.txt", lines(validAgents)],
    ["agent_address_invalid.txt", lines(invalidAgents)],
    ["group_address_valid.txt", lines(validGroups)],
    ["group_address_invalid.txt", lines(invalidGroups)],
    ["message_address_valid.txt", lines([...validAgents, ...validGroups])],
    [
      "message_address_invalid.txt",
      lines([...invalidAgents, ...invalidGroups].filter((text) => text !== "agent:abc")),
    ],
    ["message_address_input.json", json(inputs)],
  ]);
