// The settings of an endpoint as flags: the same ones for the daemon that runs under them and for the command that checks
// them.

import process from "node:process";
import type { Command } from "commander";
import * as Configuration from "@social-harness/endpoint/state/Configuration";

export type Flags = Partial<Readonly<Record<Configuration.Field, string>>>;

const fields: ReadonlyArray<readonly [field: Configuration.Field, value: string, meaning: string]> = [
  ["port", "<n>", "of the MCP endpoint on 127.0.0.1; 0 = any (default: 7431)"],
  ["logLevel", "<level>", "debug, info, warn or error (default: info)"],
  [
    "contacts",
    "<who>",
    "who may open a conversation: everyone, known, nobody, or names with commas (default: everyone)",
  ],
  [
    "blocked",
    "<names>",
    "who may not in any case, yet can be in a group that another opens: names with commas, or nobody",
  ],
  [
    "mode",
    "<mode>",
    "who may speak to it: trusted-local, every program on this machine, or credentials (default: trusted-local)",
  ],
  ["registryUrl", "<url>", "instead of the configured one"],
  ["routerUrl", "<url>", "instead of the configured one"],
  ["registryKey", "<key>", "instead of the pinned one"],
  ["routerKey", "<key>", "instead of the pinned one"],
  ["admission", "<credential>", "for a registration that brings none"],
];

export const withFlags = (command: Command): Command => {
  for (const [field, value, meaning] of fields)
    command.option(`${Configuration.flagOf(field)} ${value}`, meaning);
  return command;
};

/** The given flags over the environment; the file comes in where they are resolved. */
export const sourcesOf = (options: Flags): Omit<Configuration.Sources, "file"> => ({
  flags: Object.fromEntries(fields.map(([field]) => [field, options[field]])),
  environment: process.env,
});
