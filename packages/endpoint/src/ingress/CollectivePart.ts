// Recognises the collective part of a post: a data part whose value has one single, reserved key. Says what is left for
// the host, or why nothing is. Implements ING-03 and ING-07.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { ContentPart } from "@social-harness/protocol/history/Content";

export const collectiveKey = "org.social-harness/collective";

/** Why a certified post never becomes an item. */
export type ConsumedReason =
  /** More than one collective part. */
  | "collective-repeated"
  /** A collective part that is no multicast: malformed, or an operation of a later version. */
  | "collective-unknown"
  /** Nothing is left for a host to read. */
  | "content-empty"
  /** This endpoint is the author. */
  | "own-post";

type JsonObject = { readonly [key: string]: Json };

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isCollective = (part: ContentPart): part is Extract<ContentPart, { type: "data" }> => {
  if (part.type !== "data" || !isObject(part.value)) return false;
  const keys = Object.keys(part.value);
  return keys.length === 1 && keys[0] === collectiveKey;
};

const isMulticast = (value: Json | undefined): boolean =>
  isObject(value) &&
  Object.keys(value).length === 2 &&
  value.kind === "operation" &&
  value.op === "multicast";

/** The content without its collective part, or the reason why the whole post is consumed. */
export const strip = (
  content: ReadonlyArray<ContentPart>,
): readonly [ContentPart, ...Array<ContentPart>] | ConsumedReason => {
  const collective = content.filter(isCollective);
  if (collective.length > 1) return "collective-repeated";
  if (!collective.every(({ value }) => isMulticast((value as JsonObject)[collectiveKey]))) {
    return "collective-unknown";
  }
  const [first, ...rest] = content.filter((part) => !isCollective(part));
  return first === undefined ? "content-empty" : [first, ...rest];
};
