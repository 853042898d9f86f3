// Has the schema library compile a decoder when it is first used: every frame, packet and call passes one, and interpreting its
// schema is the largest part of what that costs. A compiled decoder gives the same verdicts; where the runtime forbids
// generated code, the interpreter goes on.

import type * as Schema from "effect/Schema";
import { enable } from "effect/schema/SchemaJITCompiler";

/** The same schema, and those that it is made of, compiled from here on. */
export const compiled = <S extends Schema.Constraint>(schema: S): S => {
  enable(schema.ast);
  return schema;
};
