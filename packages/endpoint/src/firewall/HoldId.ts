// The name of a hold: `hld_` and 16 random bytes. It says nothing of what is held, and opens nothing by itself.

import type * as Brand from "effect/Brand";
import * as Schema from "effect/Schema";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";

export type HoldId = string & Brand.Brand<"HoldId">;

export const prefix = "hld_";
export const byteCount = 16;
const pattern = Base64Url.patternOf(byteCount, prefix);

export const is = (value: unknown): value is HoldId => typeof value === "string" && pattern.test(value);

export const schema = Schema.String.check(
  Schema.makeFilter(
    (value: string) => is(value) || `expected "${prefix}" and the canonical base64url of ${byteCount} bytes`,
  ),
) as unknown as Schema.Codec<HoldId, string>;

/** Mints one of exactly `byteCount` bytes. */
export const fromBytes = (bytes: Uint8Array): HoldId => {
  if (bytes.byteLength !== byteCount) throw new RangeError(`a hold id takes ${byteCount} bytes`);
  return (prefix + Base64Url.encode(bytes)) as HoldId;
};
