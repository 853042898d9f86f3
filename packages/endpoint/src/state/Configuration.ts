// What an endpoint is told: one closed schema, filled from flags, then SOCIAL_HARNESS_* variables, then `config.json`.
// Every complaint names the flag, variable or field to change, and never its value. Implements RUN-24, RUN-26 and
// RUN-140.

import { isDeepStrictEqual } from "node:util";
import * as Schema from "effect/Schema";
import * as Diagnosis from "@social-harness/protocol/encoding/Diagnosis";
import * as StrictJson from "@social-harness/protocol/encoding/StrictJson";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { AdmissionCredential } from "@social-harness/registry/Admission";
import { RegistryUrl, RouterUrl } from "@social-harness/registry/NetworkUrl";
import { levels } from "./LogFiles.ts";
import * as PrivateFile from "./PrivateFile.ts";
import type { StateFolder } from "./StateFolder.ts";

/** Longer lists of people belong where they can be looked after better than in a configuration. */
const namesMax = 1_000;
/** Words that stand for people, each alone: in a list of names they would be taken for agents who are called so. */
const groups = ["everyone", "known", "nobody"];
const isListed = Schema.makeFilter((name: string) => !groups.includes(name));
const names = Schema.Array(AgentName.schema.check(isListed)).check(Schema.isMaxLength(namesMax));

export const schema = Schema.Struct({
  registryUrl: RegistryUrl,
  routerUrl: RouterUrl,
  /** The pinned keys of the network's two services. */
  registryKey: SigningKey.schema,
  routerKey: SigningKey.schema,
  admission: Schema.optionalKey(AdmissionCredential),
  agentName: Schema.optionalKey(AgentName.schema),
  /** Of the MCP endpoint; 0 takes any free one. */
  port: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })),
  /** Who may speak at the MCP endpoint: every program of this machine, or holders of the folder's tokens alone. */
  mode: Schema.Literals(["trusted-local", "credentials"]),
  logLevel: Schema.Literals(levels),
  /** Who may open a conversation with this agent, and who may not in any case. */
  contacts: Schema.Union([Schema.Literals(["everyone", "known"]), names]),
  blocked: names,
});
export type Configuration = typeof schema.Type;
export type Mode = Configuration["mode"];
export type Field = keyof Configuration;

const defaults = {
  port: 7_431,
  mode: "trusted-local",
  logLevel: "info",
  contacts: "everyone",
  blocked: [],
} as const;
const fields = Object.keys(schema.fields) as ReadonlyArray<Field>;
const fileBytesMax = 65_536;

export interface ConfigurationIssue {
  /** The flag, the variable or the file's field, words as its user writes it. */
  readonly path: string;
  readonly message: string;
}

export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly issues: ReadonlyArray<ConfigurationIssue>;
  constructor(issues: ReadonlyArray<ConfigurationIssue>) {
    super(issues.map(({ path, message }) => `${path}: ${message}`).join("\n"));
    this.issues = issues;
  }
}

const words = (field: string, separator: string): string =>
  field.replace(/[A-Z]/g, (letter) => separator + letter.toLowerCase());

const variablePrefix = "SOCIAL_HARNESS_";
const variableOf = (field: Field): string => variablePrefix + words(field, "_").toUpperCase();
export const flagOf = (field: Field): string => `--${words(field, "-")}`;
/** They choose the folder that holds the configuration, so they are no part of it. */
const folderVariables = new Set(["SOCIAL_HARNESS_STATE", "SOCIAL_HARNESS_PROFILE"]);

type Values = Readonly<Record<string, unknown>>;

export interface Sources {
  /** Values of flags that were given, by field name; text or already parsed. */
  readonly flags?: Partial<Readonly<Record<Field, string | number | undefined>>>;
  /** The whole environment; only its SOCIAL_HARNESS_* variables are looked at. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The content of `config.json`, null when there is none. */
  readonly file?: string | null;
}

const isOfPeople = (field: string): field is "contacts" | "blocked" =>
  field === "contacts" || field === "blocked";

const aName = "expected the name of an agent: 3 to 32 of a-z and 0-9, with single hyphens inside";
const aKey = "expected a key of 43 characters, as the network's operator shows it";
const oneOf = (literals: ReadonlyArray<string>): string =>
  `expected ${literals.join(", ").replace(/, ([^,]*)$/, " or $1")}`;

/** What each field takes, in words: those of a schema speak of patterns, and of one side of a union alone. */
const expected: Readonly<Record<Field, string>> = {
  registryUrl: "expected the Registry's https:// address, or an http:// one on loopback",
  routerUrl: "expected the Router's wss:// address, or a ws:// one on loopback",
  registryKey: aKey,
  routerKey: aKey,
  admission: "expected the admission credential that an invite brings",
  agentName: aName,
  port: "expected a whole number from 0 to 65535, where 0 takes any free port",
  mode: oneOf(schema.fields.mode.literals),
  logLevel: oneOf(schema.fields.logLevel.literals),
  contacts: `expected everyone, known or nobody, or a list of 1 to ${namesMax} agents' names`,
  blocked: `expected nobody, or a list of 1 to ${namesMax} agents' names`,
};

interface Layer {
  readonly values: Values;
  readonly nameOf: (field: string) => string;
  /** All that could be set there, and how a list of names is written there. */
  readonly known: ReadonlyArray<string>;
  readonly listed: string;
}

/** What is wrong at one place. An element of a list is a name, and no word that stands for people. */
const complaintOf = (
  field: string,
  rest: ReadonlyArray<PropertyKey>,
  { known, listed }: Pick<Layer, "known" | "listed">,
): string => {
  if (!fields.includes(field as Field))
    return `there is no such setting, expected one of ${known.join(", ")}`;
  if (rest.length > 0) return `${aName}; ${groups.join(", ")} stand alone`;
  return isOfPeople(field) ? `${expected[field]} ${listed}` : expected[field as Field];
};

const inText = "with commas between them";
const inFile = 'as in ["bob-agent", "carol-agent"]';

/** Flags and variables are text; a port in them is a number written in digits, several names stand between commas. */
const parsed = (field: string, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  if (field === "port") return /^\d{1,5}$/.test(value) ? Number(value) : value;
  const isList = isOfPeople(field) && value !== "" && !groups.includes(value);
  return isList ? value.split(",") : value;
};

/** In every source `nobody` is the list without names. */
const withLists = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([field, value]) => [
      field,
      isOfPeople(field) && value === "nobody" ? [] : value,
    ]),
  );

const flagLayer = (flags: Sources["flags"] = {}): Layer => ({
  values: Object.fromEntries(
    Object.entries(flags).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, parsed(field, value)]],
    ),
  ),
  nameOf: (field) => flagOf(field as Field),
  known: fields.map(flagOf),
  listed: inText,
});

const variableLayer = (environment: Sources["environment"] = {}): Layer => {
  const byName = new Map<string, Field>(fields.map((field) => [variableOf(field), field]));
  const values = Object.entries(environment).flatMap(([name, value]) => {
    if (value === undefined || !name.startsWith(variablePrefix) || folderVariables.has(name)) return [];
    const field = byName.get(name) ?? name;
    return [[field, parsed(field, value)] as const];
  });
  return {
    values: Object.fromEntries(values),
    nameOf: (field) => (fields.includes(field as Field) ? variableOf(field as Field) : field),
    known: [...byName.keys(), ...folderVariables],
    listed: inText,
  };
};

const fileLayer = (text: string | null): Layer => {
  const nameOf = (field: string): string => `config.json: ${field}`;
  if (text === null) return { values: {}, nameOf, known: fields, listed: inFile };
  let value: unknown;
  try {
    value = StrictJson.parse(text);
  } catch {
    const message = "it is no JSON, or has a name twice: expected an object of settings, each once";
    throw new ConfigurationError([{ path: "config.json", message }]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigurationError([{ path: "config.json", message: "expected an object of settings" }]);
  }
  return { values: value as Values, nameOf, known: fields, listed: inFile };
};

const diagnose = Diagnosis.decoder(schema);

/** The first one wins. */
const layersOf = (sources: Sources): ReadonlyArray<Layer> => [
  flagLayer(sources.flags),
  variableLayer(sources.environment),
  fileLayer(sources.file ?? null),
];

/** The configuration that the three sources make together. Throws `ConfigurationError` with everything that is off. */
export const resolve = (sources: Sources): Configuration => {
  const layers = layersOf(sources);
  const values: Record<string, unknown> = { ...defaults };
  for (const layer of layers.toReversed()) Object.assign(values, layer.values);
  const diagnosis = diagnose(withLists(values));
  if (diagnosis.ok) return diagnosis.value;
  throw new ConfigurationError(
    diagnosis.issues.map(({ path: [field, ...rest] }) => {
      const name = String(field);
      const source = layers.find((layer) => Object.hasOwn(layer.values, name));
      if (source !== undefined) {
        const path = [source.nameOf(name), ...rest].join(".");
        return { path, message: complaintOf(name, rest, source) };
      }
      return {
        path: `config.json: ${name}`,
        message: `it is missing: join a network, or give ${flagOf(name as Field)}`,
      };
    }),
  );
};

const withFile = (folder: StateFolder, sources: Omit<Sources, "file">): Sources => ({
  ...sources,
  file: PrivateFile.read(folder.configuration, fileBytesMax),
});

/** As `resolve`, with the folder's `config.json`. */
export const load = (folder: StateFolder, sources: Omit<Sources, "file">): Configuration =>
  resolve(withFile(folder, sources));

export interface Setting {
  readonly field: Field;
  /** Absent where nothing sets it. A credential is never shown. */
  readonly value?: string | number | ReadonlyArray<string>;
  /** The flag, the variable or the file's field that sets it; `default` where none does. */
  readonly from: string;
}

/** What is in force and where it comes from, in the schema's order. Throws as `load` does. */
export const explain = (folder: StateFolder, sources: Omit<Sources, "file">): ReadonlyArray<Setting> => {
  const all = withFile(folder, sources);
  const configuration = resolve(all);
  const layers = layersOf(all);
  return fields.map((field) => {
    const source = layers.find((layer) => Object.hasOwn(layer.values, field));
    const value = field === "admission" ? undefined : configuration[field];
    return { field, ...(value === undefined ? {} : { value }), from: source?.nameOf(field) ?? "default" };
  });
};

/** Writes `config.json`, in one step, for a person to read and change. What equals a default is left out. */
export const save = (folder: StateFolder, configuration: Configuration): void => {
  const values = fields.flatMap((field) => {
    const value = configuration[field];
    const isDefault =
      Object.hasOwn(defaults, field) && isDeepStrictEqual(value, defaults[field as keyof typeof defaults]);
    return value === undefined || isDefault ? [] : [[field, value] as const];
  });
  PrivateFile.replace(folder.configuration, `${JSON.stringify(Object.fromEntries(values), null, 2)}\n`);
};
