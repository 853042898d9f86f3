// One tool of the catalog: what a model reads about it, how its arguments are decoded, and what it calls.
// Decoding is closed and happens once, here; behind it there is no `unknown`. Implements MGT-08 and MGT-60.

import type { DecodeIssue } from "@social-harness/protocol/encoding/DecodeError";
import * as Diagnosis from "@social-harness/protocol/encoding/Diagnosis";
import * as Schema from "effect/Schema";
import type { OperationName } from "../operations/OperationError.ts";
import type { Operations } from "../operations/Operations.ts";
import type * as JsonSchema from "./JsonSchema.ts";
import { invalidParams } from "./McpError.ts";

/** Hints for the host, in the protocol's words. */
export interface Annotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  /** Whether other agents or services are involved. */
  readonly openWorldHint: boolean;
}

/** What a client lists. */
export interface Face {
  readonly name: OperationName;
  readonly description: string;
  readonly annotations: Annotations;
  readonly inputSchema: JsonSchema.Root;
  readonly outputSchema: JsonSchema.Root;
}

export interface Tool {
  readonly face: Face;
  /** Rejects with `McpError` for malformed arguments, with the operation's `OperationError`s, or with a defect. */
  readonly call: (operations: Operations, args: unknown, gone: AbortSignal) => Promise<object>;
}

export const define = <Input>(
  tool: Face & {
    readonly decode: (args: unknown) => Input;
    /** `gone` aborts when nobody waits for the result any more: long reads end then, and acts do not. */
    readonly run: (operations: Operations, input: Input, gone: AbortSignal) => object | Promise<object>;
  },
): Tool => {
  const { decode, run, ...face } = tool;
  return { face, call: async (operations, args, gone) => run(operations, decode(args), gone) };
};

/** Decodes one shape; where the arguments are off it throws what `told` makes of each place. */
const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  told: (issue: DecodeIssue) => DecodeIssue,
): ((args: unknown) => S["Type"]) => {
  const diagnose = Diagnosis.decoder(schema);
  return (args) => {
    const diagnosis = diagnose(args);
    if (diagnosis.ok) return diagnosis.value;
    throw invalidParams(diagnosis.issues.map(told));
  };
};

/** Decodes exactly this shape, or says every place where the arguments are off. */
export const exactly = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  decoder(schema, (issue) => issue);

/** The arm of a union that `field` chose and that takes it alone: what belongs to another arm is told so. */
export const alone = <S extends Schema.ConstraintDecoder<unknown>>(field: string, schema: S) =>
  decoder(schema, (issue) =>
    issue.path[0] === field
      ? issue
      : { ...issue, message: `is not expected beside ${field}: leave one of them out` },
  );

/** No argument at all. A struct without fields would take any value. */
export const noArguments = Schema.Record(
  Schema.String,
  Schema.Never.annotate({ message: "is not expected here: there are no arguments" }),
);
export const nothing = exactly(noArguments);

/** Whether arguments name a field: how a union of shapes is told apart before one of them is decoded. */
export const names = (args: unknown, field: string): boolean =>
  typeof args === "object" && args !== null && Object.hasOwn(args, field);
