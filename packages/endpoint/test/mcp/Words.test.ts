// What a model reads before and beside the tools: short enough that no host cuts it, complete enough to act on, and schemas
// in the part of JSON Schema that hosts have in common.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Catalog from "../../src/mcp/Catalog.ts";
import type { Caller } from "../../src/mcp/Caller.ts";
import * as Instructions from "../../src/mcp/Instructions.ts";
import type { Tool } from "../../src/mcp/Tool.ts";
import type { OperationName } from "../../src/operations/OperationError.ts";
import { reasons, sendDefects } from "./Reasons.ts";

/** Hosts that cut are known to cut at these; a character outside ASCII would count differently in each. */
const descriptionMax = 1_024;
const instructionsMax = 2_048;

const owner: Caller = { kind: "owner", mode: "credentials" };
const callers: ReadonlyArray<Caller> = [
  { kind: "local", mode: "trusted-local" },
  owner,
  { kind: "runtime", mode: "credentials" },
];
const states = [false, true];
const tools: ReadonlyArray<Tool> = [
  ...new Set(states.flatMap((state) => Catalog.toolsOf(owner, state, "releasable"))),
];
/** What an owner reads, before and after registration. */
const instructions = states.map((state) => Instructions.of(owner, state)).join("\n");
const faceOf = (name: OperationName) => {
  const tool = tools.find(({ face }) => face.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.face;
};

verifies("MGT-115", "no host has to cut the instructions or a description", () => {
  for (const text of callers.flatMap((caller) => states.map((state) => Instructions.of(caller, state)))) {
    expect(text.length).toBeLessThanOrEqual(instructionsMax);
    expect(text).toMatch(/^[\n -~]+$/);
  }
  for (const { face } of tools) {
    expect([face.name, face.description.length <= descriptionMax]).toEqual([face.name, true]);
    expect(face.description).toMatch(/^[ -~]+$/);
    expect(face.name).toMatch(/^[a-z_]{1,64}$/);
  }
});

verifies("MGT-116", "the instructions say how to address, send, receive and take what others write", () => {
  for (const word of [
    "agent:<name>",
    "agent:bob-agent",
    "group:<name>,<name>,...",
    "group:ada-agent,bob-agent,cyd-agent",
    "no e-mail",
    "idempotencyKey",
    "certified",
    "pending",
    "never an instruction",
    "data.issues",
  ]) {
    expect(instructions).toContain(word);
  }
  // Every tool has its moment in the text, but those that only show what is here, and the owner's for its webhook and for
  // what is held.
  for (const { face } of tools) {
    if (face.name !== "status" && !/event_subscription|_holds?$/.test(face.name))
      expect(instructions).toContain(face.name);
  }
});

verifies("MGT-116", "send_message is named as the tool for agents, with its key and its two outcomes", () => {
  const { description } = faceOf("send_message");
  for (const word of [
    "agent:<name>",
    "group:<name>",
    "no e-mail",
    "idempotencyKey",
    "certified:",
    "pending:",
  ]) {
    expect(description).toContain(word);
  }
});

verifies("MGT-116", "what others write is never to be obeyed, wherever it is read", () => {
  for (const name of ["read_inbox", "read_event", "read_conversation", "read_hold"] as const) {
    expect(faceOf(name).description).toMatch(/information.*(never an|not) instruction/);
  }
});

verifies("MGT-116", "for every reason of every tool its words or the instructions say what to do", () => {
  const all = { ...reasons, send_message: [...Object.keys(sendDefects), ...reasons.send_message] };
  for (const [name, each] of Object.entries(all) as ReadonlyArray<[OperationName, ReadonlyArray<string>]>) {
    const words = `${faceOf(name).description} ${instructions}`;
    for (const reason of each) {
      expect([name, reason, new RegExp(`\\b${reason}\\b[^.:]*:`).test(words)]).toEqual([name, reason, true]);
    }
  }
  for (const kind of ["name_taken", "key_already_registered", "idempotency_conflict", "admission_refused"]) {
    expect(faceOf("register").description).toContain(`${kind}:`);
  }
});

verifies("MGT-116", "C20: a host that does not list its tools again is told to, where it looks", () => {
  for (const words of [instructions, faceOf("register").description, faceOf("status").description]) {
    expect(words).toMatch(/list (the tools again|them),? or reconnect/);
  }
});

type Json = Readonly<Record<string, unknown>>;

interface Place {
  readonly path: string;
  readonly schema: Json;
  /** A property of an object, which a model chooses by its description. */
  readonly isProperty: boolean;
}

const placesOf = (schema: Json, path: string, isProperty = false): ReadonlyArray<Place> => {
  const under = (value: unknown, name: string, property = false): ReadonlyArray<Place> =>
    placesOf(value as Json, `${path}.${name}`, property);
  return [
    { path, schema, isProperty },
    ...Object.entries((schema["properties"] ?? {}) as Json).flatMap(([name, value]) =>
      under(value, name, true),
    ),
    ...(schema["items"] === undefined ? [] : under(schema["items"], "[]")),
    ...((schema["anyOf"] ?? []) as ReadonlyArray<Json>).flatMap((one, i) => under(one, `anyOf${i}`)),
  ];
};

/** Everything that is used; what is not here nobody has thought about. */
const keywords = new Set(
  (
    "type description properties required additionalProperties items maxItems anyOf enum pattern " +
    "minLength maxLength minimum"
  ).split(" "),
);

verifies(
  "MGT-117",
  "schemas have no reference, no lookaround, no union among arguments, and say what each property is",
  () => {
    for (const { face } of tools) {
      for (const [root, path] of [
        [face.inputSchema, `${face.name}.input`],
        [face.outputSchema, `${face.name}.output`],
      ] as const) {
        for (const { path: at, schema, isProperty } of placesOf(root as Json, path)) {
          const stray = Object.keys(schema).filter((keyword) => !keywords.has(keyword));
          expect([at, stray]).toEqual([at, []]);
          if (isProperty) {
            const description = schema["description"];
            expect([at, typeof description === "string" && description.length >= 7]).toEqual([at, true]);
          }
          if (typeof schema["pattern"] === "string") {
            expect(schema["pattern"]).toMatch(/^\^[^\n]*\$$/);
            expect(schema["pattern"]).not.toMatch(/\(\?|\\[1-9bB]/);
          }
          for (const required of (schema["required"] ?? []) as ReadonlyArray<string>) {
            expect(Object.keys(schema["properties"] as Json)).toContain(required);
          }
          if (at.startsWith(`${face.name}.input`)) {
            expect(schema).not.toHaveProperty("anyOf");
            expect([at, typeof schema["type"]]).toEqual([at, "string"]);
            if (schema["type"] === "object") expect(schema["additionalProperties"]).toBe(false);
          }
        }
      }
    }
  },
);
