// What the daemon that runs goes by, which is what it was started with: flags, variables and the config.json of that day. Told
// apart from what a start would go by now. Implements RUN-273.

import { isDeepStrictEqual } from "node:util";
import type { Configuration, Field, Mode } from "@social-harness/endpoint/state/Configuration";
import { portOf } from "./Holding.ts";
import type { Health } from "./Readiness.ts";

type Policy = Pick<Health, "contacts" | "blocked" | "registryUrl" | "routerUrl">;

/** The settings in which the two differ; `health` brings those that endpoint.json does not name. */
export const differing = (
  configuration: Configuration,
  daemon: { readonly mcpUrl: string; readonly mode: Mode },
  health: Policy | null,
): ReadonlyArray<Field> => {
  const known = ["contacts", "blocked", "registryUrl", "routerUrl"] as const;
  const isOther = configuration.port !== 0 && configuration.port !== portOf(daemon);
  return [
    ...(configuration.mode === daemon.mode ? [] : (["mode"] as const)),
    ...(isOther ? (["port"] as const) : []),
    ...(health === null
      ? []
      : known.filter((field) => !isDeepStrictEqual(configuration[field], health[field]))),
  ];
};

/** One sentence, without its full stop. */
export const explain = (fields: ReadonlyArray<Field>, { mode }: { readonly mode: Mode }): string => {
  const named = fields.map((field) => `another ${field === "mode" ? `mode (${mode})` : field}`).join(" and ");
  return `the daemon that runs was started with ${named} than a start would take now`;
};

export const remedy =
  "It goes by its own until it ends: start it again. What it was given by a flag or a variable and should stay belongs into config.json.";
