// What posts say in runs that look at the inbox: text, and every sort of collective part, with what of it a host may
// read in the oracles' own words. The same text says the same thing each time.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { Content, ContentPart } from "@social-harness/protocol/history/Content";
import { mix } from "./Random.ts";

/** Why a host never hears of a certified post. */
export type Consumed = "collective-repeated" | "collective-unknown" | "content-empty";

interface Sort {
  readonly said: (text: string) => Content;
  /** What reaches a host, or why nothing does. */
  readonly left: (text: string) => Content | Consumed;
}

const textOf = (text: string): ContentPart => ({ type: "text", text });
const dataOf = (value: Json): ContentPart => ({ type: "data", value });
const collectiveOf = (value: Json): ContentPart => dataOf({ "org.social-harness/collective": value });

const multicast = collectiveOf({ kind: "operation", op: "multicast" });
const unknown = collectiveOf({ kind: "operation", op: "vote" });
const malformed = collectiveOf({ kind: "operation", op: "multicast", more: 1 });
/** Two keys: a part of the application's own. */
const lookalike = dataOf({ "org.social-harness/collective": { kind: "operation", op: "vote" }, more: 1 });

const plain: Sort = { said: (text) => [textOf(text)], left: (text) => [textOf(text)] };

/** Half of them are plain. */
const sorts: ReadonlyArray<Sort> = [
  plain,
  plain,
  plain,
  plain,
  plain,
  plain,
  plain,
  { said: (text) => [multicast, textOf(text)], left: (text) => [textOf(text)] },
  { said: (text) => [textOf(text), multicast, dataOf(7)], left: (text) => [textOf(text), dataOf(7)] },
  { said: (text) => [lookalike, textOf(text)], left: (text) => [lookalike, textOf(text)] },
  { said: (text) => [multicast, textOf(text), multicast], left: () => "collective-repeated" },
  { said: (text) => [textOf(text), unknown], left: () => "collective-unknown" },
  { said: (text) => [malformed, textOf(text)], left: () => "collective-unknown" },
  { said: () => [multicast], left: () => "content-empty" },
];

export interface Contents {
  readonly of: (text: string) => Content;
  /** What a host may read of a post; one that was not said here is left as it is. */
  readonly leftOf: (content: Content) => Content | Consumed;
}

export const createContents = (seed: number): Contents => {
  const left = new Map<string, Content | Consumed>();
  return {
    of: (text) => {
      const sort = sorts[mix(seed, ...Buffer.from(text)) % sorts.length] as Sort;
      const said = sort.said(text);
      left.set(keyOf(said), sort.left(text));
      return said;
    },
    leftOf: (content) => left.get(keyOf(content)) ?? content,
  };
};

/** Keys come back from the wire in another order. */
const keyOf = (content: Content): string =>
  JSON.stringify(
    content.map((part) => (part.type === "text" ? part.text : part.value)),
    (_, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
