// What the daemon that runs goes by, which is what it was started with: flags, variables and the config.json of that day. Told
// apart from what a start would go by now. Implements RUN-273.

import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import type { Configuration, Field, Mode } from "@social-harness/endpoint/state/Configuration";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as Lock from "@social-harness/endpoint/state/Lock";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import { StateError } from "@social-harness/endpoint/state/StateError";
import type { Health } from "./Readiness.ts";

/** Its endpoint.json says so and it holds the folder; a file that was left behind says nothing of any daemon. */
export const daemonOf = (folder: StateFolder): EndpointFile.Endpoint | null => {
  try {
    const endpoint = EndpointFile.read(folder);
    if (endpoint === null) return null;
    if (endpoint.pid === process.pid) return endpoint;
    const holder = Lock.look(folder);
    return holder?.kind === "process" && holder.pid === endpoint.pid ? endpoint : null;
  } catch (error) {
    // Whoever asks for the daemon itself is told why it cannot be found.
    if (error instanceof StateError) return null;
    throw error;
  }
};

type Policy = Pick<Health, "contacts" | "blocked" | "registryUrl" | "routerUrl">;

const portOf = (mcpUrl: string): number => Number(new URL(mcpUrl).port);

/** The settings in which the two differ; `health` brings those that endpoint.json does not name. */
export const differing = (
  configuration: Configuration,
  daemon: { readonly mcpUrl: string; readonly mode: Mode },
  health: Policy | null,
): ReadonlyArray<Field> => {
  const known = ["contacts", "blocked", "registryUrl", "routerUrl"] as const;
  const isOther = configuration.port !== 0 && configuration.port !== portOf(daemon.mcpUrl);
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
  const named = fields.map((field) => (field === "mode" ? `mode (${mode})` : field)).join(", ");
  return `the daemon that runs was started with another ${named} than a start would take now`;
};

export const remedy =
  "It goes by its own until it ends: write into config.json what should stay, or start it again without those flags.";
