// Closed decoding for edges where a person reads the answer: every place where a value is off, up to the limit, instead
// of one verdict. Paths and expectations only; a submitted value never stands in an issue. Implements FND-01, step 6.

import * as Schema from "effect/Schema";
import * as Limits from "../Limits.ts";
import { compiled } from "./CompiledSchemas.ts";
import type { DecodeIssue } from "./DecodeError.ts";

export type Diagnosis<A> =
  | { readonly ok: true; readonly value: A }
  /** 1 to `Limits.validationIssuesMax` issues. */
  | { readonly ok: false; readonly issues: ReadonlyArray<DecodeIssue> };

/** A submitted property name is shown only when it is a short plain word: it may be anything, a secret or a megabyte. */
const showable = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

type StandardPath = ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>;

const pathOf = (path: StandardPath): DecodeIssue["path"] =>
  path.map((segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof key === "number") return key;
    return typeof key === "string" && showable.test(key) ? key : "?";
  });

/** Beyond this many members and elements only the first issue is looked for: finding all costs as much as there are. */
const entriesMax = 1_000;

const isCrowded = (root: unknown): boolean => {
  let entries = 0;
  const open: Array<unknown> = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const members: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value);
    entries += members.length;
    if (entries > entriesMax) return true;
    open.push(...members);
  }
  return false;
};

/** What the schema library says in its own terms, in words for whoever wrote the value. */
const plainly: ReadonlyMap<string, string> = new Map([
  ["Missing key", "is missing"],
  ["Expected no excess property", "is not expected here: leave it out"],
]);
const kinds: ReadonlyMap<string, string> = new Map([
  ["string", "a string"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["array", "an array"],
  ["object", "an object"],
  ["an integer", "a whole number"],
]);
const expected = "Expected ";

/** A schema's own words begin small and pass as they are; the library's begin with a capital, and join what is possible by bars. */
const inWords = (message: string): string => {
  const known = plainly.get(message);
  if (known !== undefined || !message.startsWith(expected)) return known ?? message;
  const possible = message
    .slice(expected.length)
    .split(" | ")
    .map((kind) => kinds.get(kind) ?? kind);
  const last = possible.pop() ?? "";
  return `expected ${possible.length === 0 ? "" : `${possible.join(", ")} or `}${last}`;
};

/** A decoder of one exact shape from parsed JSON. */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
): ((value: unknown) => Diagnosis<S["Type"]>) => {
  const validator = (errors: "first" | "all") => {
    const standard = Schema.toStandardSchemaV1(compiled(schema), {
      parseOptions: { errors, onExcessProperty: "error" },
    });
    return (value: unknown) => {
      const result = standard["~standard"].validate(value);
      if (result instanceof Promise) throw new TypeError("a schema of an edge decodes without waiting");
      return result;
    };
  };
  const first = validator("first");
  const all = validator("all");
  return (value) => {
    let result = first(value);
    if (result.issues !== undefined && !isCrowded(value)) result = all(value);
    if (result.issues === undefined) return { ok: true, value: result.value as S["Type"] };
    const issues = result.issues.slice(0, Limits.validationIssuesMax);
    return {
      ok: false,
      issues: issues.map(({ path, message }) => ({
        path: pathOf(path ?? []),
        message: inWords(message),
      })),
    };
  };
};
