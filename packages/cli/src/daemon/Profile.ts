// Which endpoint a command means: --state, else SOCIAL_HARNESS_STATE, else the profile's folder. Reads what others may
// need of it without starting anything.

import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import process from "node:process";
import * as UserFolders from "../UserFolders.ts";
import { misused, sentence } from "../Failure.ts";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import { StateError } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";

export interface StateOptions {
  readonly profile?: string;
  readonly state?: string;
  /** What is printed is for a program. */
  readonly json?: boolean;
}

export const random = (byteCount: number): Buffer => randomBytes(byteCount);

/** The folder that the environment names where no profile does; an empty variable names none. */
const environmentState = (): string | undefined => process.env["SOCIAL_HARNESS_STATE"] || undefined;

const profilePath = (profile: string): string => {
  if (UserFolders.of("XDG_STATE_HOME") === null) {
    throw misused(UserFolders.none, "Set it, or name the endpoint's folder with --state.");
  }
  return StateFolder.defaultPath({ profile, home: homedir(), xdgStateHome: process.env["XDG_STATE_HOME"] });
};

/** The folder that the flags and the environment name. */
export const pathOf = ({ profile, state }: StateOptions): string => {
  if (state !== undefined) return state;
  if (profile === undefined) {
    return environmentState() ?? profilePath(process.env["SOCIAL_HARNESS_PROFILE"] || "default");
  }
  try {
    return profilePath(profile);
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    throw misused(error.what, sentence(error.next));
  }
};

/** How somebody who names endpoints in this way names another one. */
export const otherOf = ({ profile, state }: StateOptions): "--state" | "--profile" =>
  state !== undefined || (profile === undefined && environmentState() !== undefined)
    ? "--state"
    : "--profile";

/** The next step where a folder has no keys. */
export const joinFirst = "Join a network first: `social-harness join <invite> --name <agent>`.";

/** The Registry key that this endpoint has pinned, or null where it has none yet. */
export const pinnedRegistryKey = (options: StateOptions): SigningKey | null => {
  const folder = StateFolder.at(pathOf(options));
  const environment = process.env;
  if (
    PrivateFile.read(folder.configuration, 65_536) === null &&
    environment["SOCIAL_HARNESS_REGISTRY_KEY"] === undefined
  ) {
    return null;
  }
  return Configuration.load(folder, { environment }).registryKey;
};
