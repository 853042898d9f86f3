// A daemon as a service of its user: what it is called, what is started, and which manager of this machine looks after it.
// Knows no unit file.

import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, isAbsolute } from "node:path";

export interface Service {
  /** One for each state folder: its last name for people, and a part of the hash of its whole path. */
  readonly name: string;
  /** The state folder, absolute. */
  readonly state: string;
  /** The program and its arguments, each as it is. */
  readonly command: ReadonlyArray<string>;
  /** What the daemon needs of the environment of whoever installs it. Never a secret: a unit is no private file. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How the service stands with its manager. */
export interface Standing {
  /** As the manager says it; null where it cannot be asked. */
  readonly active: boolean | null;
  /** Whether it starts when its user logs in; null where the manager cannot be asked. */
  readonly enabled: boolean | null;
  readonly pid: number | null;
  /** The manager's own words, or why it cannot be asked. */
  readonly detail: string;
}

/** A command of the manager, as a person would type it. */
export type Step = ReadonlyArray<string>;

export interface Manager {
  readonly kind: "systemd" | "launchd";
  /** Where the unit of a service stands. */
  readonly pathOf: (name: string) => string;
  readonly textOf: (service: Service) => string;
  /** The command of a unit that `textOf` wrote, also an earlier version's; empty where there is none in it. */
  readonly commandIn: (text: string) => Service["command"];
  /** What puts a unit in force that was just written, and starts the daemon anew. */
  readonly starting: (name: string) => ReadonlyArray<Step>;
  /** What stops the daemon, before its unit goes. */
  readonly stopping: (name: string) => ReadonlyArray<Step>;
  /** What points to the unit once it was put in force; gone with it. */
  readonly linksOf: (name: string) => ReadonlyArray<string>;
  /** What is to be done once the unit is gone. */
  readonly afterRemoval: ReadonlyArray<Step>;
  readonly standing: (name: string) => Promise<Standing>;
  /** What a person can do where the manager cannot be asked. */
  readonly unasked: string;
  /** For a person, once it is installed. */
  readonly advice: string;
}

/** Whether the manager may have it: of one that cannot be asked nobody knows. */
export const mayRun = ({ active, enabled }: Standing): boolean => active !== false || enabled !== false;

/**
 * What of the program is no longer where the unit of a service looks for it: the Node, after another was installed in its place
 * under another path, or the program itself. Null when all is there.
 */
export const missingOf = (command: Service["command"]): string | null =>
  command
    .slice(0, command.indexOf("daemon"))
    .filter((word) => isAbsolute(word))
    .find((path) => !existsSync(path)) ?? null;

export const nameOf = (state: string): string => {
  const word = basename(state)
    .replaceAll(/[^A-Za-z0-9_.-]/g, "-")
    .slice(0, 40);
  return `social-harness-${word}-${hash("sha256", state, "hex").slice(0, 8)}`;
};

// eslint-disable-next-line no-control-regex
const unwritable = /[\u0000-\u001f\u007f\ufffe\uffff]/;

/** No unit file can hold a line end in a text, and neither kind what is no character. */
export const isWritable = ({ command, environment }: Service): boolean =>
  ![...command, ...Object.values(environment)].some((text) => unwritable.test(text) || !text.isWellFormed());
