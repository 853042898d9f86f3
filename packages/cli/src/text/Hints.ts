// Commands that a text tells a person to type, made to work when they are copied: each names the endpoint, or the network's
// folder, that the command at hand was called with. Implements RUN-80.

import type { StateOptions } from "../daemon/Profile.ts";

export interface Named extends StateOptions {
  readonly data?: string;
}

/** A word as a POSIX shell takes it. */
const word = (text: string): string =>
  /^[\w./~:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** How to name the same endpoint in a command that a person is told to type. */
export const flagsOf = ({ profile, state }: StateOptions): string => {
  if (state !== undefined) return ` --state ${word(state)}`;
  return profile === undefined ? "" : ` --profile ${word(profile)}`;
};

/** How to name the same network's folder. */
export const dataFlagOf = ({ data }: Named): string => (data === undefined ? "" : ` --data ${word(data)}`);

/** The text with the same endpoint or network named in each command between backticks. */
export const naming = (named: Named, text: string): string =>
  text.replaceAll(/`social-harness [^`]*`/g, (command) => {
    const flags = command.startsWith("`social-harness network ") ? dataFlagOf(named) : flagsOf(named);
    return command.includes(flags) || command.includes("--help")
      ? command
      : `${command.slice(0, -1)}${flags}\``;
  });
