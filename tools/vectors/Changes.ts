// Small, named damage to a JSON value: one bit, one member, one type at a time, everywhere. A change travels as the path
// to its place and what stands there afterwards, so that negative vectors do not repeat the value that they damage.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";

export type Path = ReadonlyArray<string | number>;

/** `value` replaces or adds what stands at the path; `remove` takes the member away. */
export type Change =
  | { readonly name: string; readonly path: Path; readonly value: Json }
  | { readonly name: string; readonly path: Path; readonly remove: true };

const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Every place in a value, the root excluded, with what stands there. */
function* places(value: Json, path: Path = []): Generator<readonly [Path, Json]> {
  if (path.length > 0) yield [path, value];
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* places(item as Json, [...path, i]);
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) yield* places(member, [...path, name]);
  }
}

const nameOf = (path: Path): string => path.join(".");

/** Text with one bit of its bytes changed where it is base64url behind an optional prefix, one letter more otherwise. */
const changedText = (text: string): string => {
  const prefix = /^[a-z]{3}_/.exec(text)?.[0] ?? "";
  const bytes = text.length - prefix.length >= 22 ? Base64Url.decode(text.slice(prefix.length)) : null;
  if (bytes === null) return `${text}x`;
  const middle = bytes.byteLength >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  return prefix + Base64Url.encode(bytes);
};

const changedLeaf = (value: Json): Json => {
  if (typeof value === "string") return changedText(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? value + 1 : value * 2;
  if (typeof value === "boolean") return !value;
  return null;
};

/** Each leaf that holds text, a number or a boolean, changed within its own type. */
export const changedLeaves = (value: Json): ReadonlyArray<Change> =>
  [...places(value)]
    .filter(([, leaf]) => leaf !== null && typeof leaf !== "object")
    .map(([path, leaf]) => ({ name: `${nameOf(path)} changed`, path, value: changedLeaf(leaf) }));

/** Each member of each object taken away, and an excess member in each. */
export const changedShapes = (value: Json): ReadonlyArray<Change> => {
  const removed = [...places(value)]
    .filter(([path]) => typeof path.at(-1) === "string")
    .map(([path]) => ({ name: `${nameOf(path)} missing`, path, remove: true as const }));
  const excess = [[[] as Path, value] as const, ...places(value)]
    .filter(([, place]) => isObject(place))
    .map(([path]) => ({
      name: `excess member in ${nameOf(path) || "the root"}`,
      path: [...path, "more"],
      value: null,
    }));
  return [...removed, ...excess];
};

/** Each place given a value of a type that never stands there. */
export const changedTypes = (value: Json): ReadonlyArray<Change> =>
  [...places(value)].flatMap(([path, place]) => {
    const wrong: ReadonlyArray<Json> =
      typeof place === "string"
        ? [7, [place], ""]
        : typeof place === "number"
          ? [String(place), -1, 0.5, 9007199254740992]
          : typeof place === "boolean"
            ? [0, "true"]
            : place === null
              ? [false, 0, ""]
              : Array.isArray(place)
                ? [{}, null, "[]"]
                : [[], null, "{}"];
    return wrong.map((other) => ({
      name: `${nameOf(path)} is ${JSON.stringify(other)}`,
      path,
      value: other,
    }));
  });

/** The value after the change. Shares nothing with the value before it. */
export const apply = (value: Json, change: Change): Json => {
  const copy = structuredClone(value) as Json;
  const last = change.path.at(-1) as string | number;
  let parent = copy as { [name: string | number]: Json };
  for (const step of change.path.slice(0, -1)) parent = parent[step] as { [name: string | number]: Json };
  if ("remove" in change) delete parent[last];
  else parent[last] = change.value;
  return copy;
};
