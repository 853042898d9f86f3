// Which endpoint a command means: --state, else SOCIAL_HARNESS_STATE, else the profile's folder. Reads what others may
// need of it without starting anything.

import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import process from "node:process";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";

export interface StateOptions {
  readonly profile?: string;
  readonly state?: string;
}

export const random = (byteCount: number): Buffer => randomBytes(byteCount);

/** The folder that the flags and the environment name. Throws `StateError` for a profile that is no name. */
export const pathOf = ({ profile, state }: StateOptions): string =>
  state ??
  (profile === undefined ? process.env["SOCIAL_HARNESS_STATE"] : undefined) ??
  StateFolder.defaultPath({
    profile: profile ?? process.env["SOCIAL_HARNESS_PROFILE"] ?? "default",
    home: homedir(),
    xdgStateHome: process.env["XDG_STATE_HOME"],
  });

/** How to name the same endpoint in a command that a person is told to type. */
export const flagsOf = ({ profile, state }: StateOptions): string => {
  if (state !== undefined) return ` --state ${state}`;
  return profile === undefined ? "" : ` --profile ${profile}`;
};

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
