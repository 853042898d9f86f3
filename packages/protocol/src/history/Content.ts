// The content of a post: a nonempty array of text and data parts, bounded in bytes and depth. Implements HIS-04.

import * as Schema from "effect/Schema";
import * as CanonicalJson from "../encoding/CanonicalJson.ts";
import { DecodeError } from "../encoding/DecodeError.ts";
import * as Limits from "../Limits.ts";

export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String });
export const DataPart = Schema.Struct({ type: Schema.Literal("data"), value: Schema.Json });
export const ContentPart = Schema.Union([TextPart, DataPart]);
export type ContentPart = typeof ContentPart.Type;

const withinBounds = (content: ReadonlyArray<ContentPart>): boolean => {
  try {
    return CanonicalJson.byteLength(content, Limits.contentDepthMax) <= Limits.contentBytesMax;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
};

export const schema = Schema.NonEmptyArray(ContentPart).check(
  Schema.makeFilter(
    (content: ReadonlyArray<ContentPart>) =>
      withinBounds(content) ||
      `expected content of at most ${Limits.contentBytesMax} canonical bytes and depth ${Limits.contentDepthMax}`,
  ),
);
export type Content = typeof schema.Type;

export const ofText = (text: string): Content => [{ type: "text", text }];
