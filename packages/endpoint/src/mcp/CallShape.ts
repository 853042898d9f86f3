// The shape of a `tools/call` around its arguments: its name, whether its arguments are an object at all, and the `_meta` that
// every request of the revision carries. Says every place that is off, and never what stands there. Implements MGT-61 and MGT-140.

import type { DecodeIssue } from "@social-harness/protocol/encoding/DecodeError";

type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string => typeof value === "string";

const logLevels: ReadonlyArray<unknown> = "debug info notice warning error critical alert emergency".split(
  " ",
);

interface MetaField {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isGood: (value: unknown) => boolean;
  readonly message: string;
}

const prefix = "io.modelcontextprotocol/";
const metaFields: ReadonlyArray<MetaField> = [
  {
    name: `${prefix}protocolVersion`,
    isRequired: true,
    isGood: isText,
    message: "expected the protocol version of the request",
  },
  {
    name: `${prefix}clientCapabilities`,
    isRequired: true,
    isGood: isObject,
    message: "expected an object with the client's capabilities",
  },
  {
    name: `${prefix}clientInfo`,
    isRequired: false,
    isGood: (value) => isObject(value) && isText(value.name) && isText(value.version),
    message: "expected an object with the client's name and version",
  },
  {
    name: `${prefix}logLevel`,
    isRequired: false,
    isGood: (value) => logLevels.includes(value),
    message: "expected a level of the protocol",
  },
  {
    name: "progressToken",
    isRequired: false,
    isGood: (value) => isText(value) || Number.isInteger(value),
    message: "expected a string or an integer",
  },
];

/** What is wrong with the request's `_meta`, given its parameters. */
export const metaIssuesOf = (params: Json): ReadonlyArray<DecodeIssue> => {
  const meta = params["_meta"];
  if (!isObject(meta)) {
    return [
      {
        path: ["_meta"],
        message: "expected an object with the protocol version and the client's capabilities",
      },
    ];
  }
  return metaFields
    .filter(({ name, isRequired, isGood }) => (Object.hasOwn(meta, name) ? !isGood(meta[name]) : isRequired))
    .map(({ name, message }) => ({ path: ["_meta", name], message }));
};

export interface Call {
  readonly name: string;
  readonly arguments: Json;
}

export type Shape =
  | { readonly ok: true; readonly call: Call }
  | { readonly ok: false; readonly issues: ReadonlyArray<DecodeIssue> };

/** Absent arguments are none, as the protocol says. */
export const read = (params: unknown): Shape => {
  if (!isObject(params))
    return { ok: false, issues: [{ path: [], message: "expected an object of parameters" }] };
  const name = params.name;
  const args = Object.hasOwn(params, "arguments") ? params.arguments : {};
  if (isText(name) && isObject(args)) return { ok: true, call: { name, arguments: args } };
  return {
    ok: false,
    issues: [
      ...(isText(name) ? [] : [{ path: ["name"], message: "expected the name of a tool" }]),
      ...(isObject(args) ? [] : [{ path: ["arguments"], message: "expected an object" }]),
    ],
  };
};
