// Where a user's files go that nobody named a folder for: by the XDG variables, else in the home. Both count only as whole
// paths. An empty HOME, as in a cron job or a container, would put keys into whatever folder a command is given in.
// Implements RUN-305.

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";

const inHome = {
  XDG_CACHE_HOME: [".cache"],
  XDG_CONFIG_HOME: [".config"],
  XDG_STATE_HOME: [".local", "state"],
} as const;

/** Null where the environment names no home. */
export const home = (): string | null => (isAbsolute(homedir()) ? homedir() : null);

/** Null where the environment names neither such a folder nor a home. */
export const of = (variable: keyof typeof inHome): string | null => {
  const named = process.env[variable];
  if (named !== undefined && isAbsolute(named)) return named;
  const base = home();
  return base === null ? null : join(base, ...inHome[variable]);
};

/** What is wrong where there is none. */
export const none = "the environment names no home: HOME is empty or no whole path";
