// Closed decoding: exact schemas where a missing or an excess field is an error (FND-01, step 6).
// Issues name paths and expectations, never values.

import * as Schema from "effect/Schema";
import * as Result from "effect/Result";
import * as CanonicalJson from "./CanonicalJson.ts";
import { compiled } from "./CompiledSchemas.ts";
import { DecodeError } from "./DecodeError.ts";

const closed = { onExcessProperty: "error" } as const;

/** A decoder of one exact shape from parsed JSON. Throws `DecodeError` with reason `schema`. */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
): ((value: unknown) => S["Type"]) => {
  const decode = Schema.decodeUnknownResult(compiled(schema), closed);
  return (value) => {
    const result = decode(value);
    if (Result.isSuccess(result)) return result.success as S["Type"];
    throw new DecodeError("schema", "the value does not have the expected shape");
  };
};

/** A decoder of one exact shape from canonical bytes within bounds. */
export const bytesDecoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  bounds: CanonicalJson.Bounds,
): ((bytes: Uint8Array) => S["Type"]) => {
  const decode = decoder(schema);
  return (bytes) => decode(CanonicalJson.decodeBytes(bytes, bounds));
};
