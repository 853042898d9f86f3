// Where an endpoint keeps everything: the names of its files, and a folder that is its owner's alone.
// Opens no file of its own but to make sure that the databases are private from their first byte. Implements RUN-20 and RUN-30.

import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import * as StoreFile from "../store/StoreFile.ts";
import * as PrivateFile from "./PrivateFile.ts";
import { codeOf, StateError, unavailable } from "./StateError.ts";

export interface StateFolder {
  readonly path: string;
  readonly identity: string;
  readonly configuration: string;
  readonly firewall: string;
  readonly database: string;
  readonly ownerToken: string;
  readonly runtimeToken: string;
  readonly metricsToken: string;
  readonly lock: string;
  readonly endpoint: string;
  /** Only where a daemon is run for tests of callbacks. */
  readonly testCallbacks: string;
  readonly logs: string;
}

/** The names inside a state folder, whether or not it exists. */
export const at = (path: string): StateFolder => {
  const folder = resolve(path);
  return {
    path: folder,
    identity: join(folder, "identity.json"),
    configuration: join(folder, "config.json"),
    firewall: join(folder, "firewall.json"),
    database: join(folder, "endpoint.sqlite"),
    ownerToken: join(folder, "owner-token"),
    runtimeToken: join(folder, "runtime-token"),
    metricsToken: join(folder, "metrics-token"),
    lock: join(folder, "lock"),
    endpoint: join(folder, "endpoint.json"),
    testCallbacks: join(folder, "test-callbacks.json"),
    logs: join(folder, "logs"),
  };
};

const profilePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** `$XDG_STATE_HOME/social-harness/<profile>`; the variable counts only when it is absolute, as its standard says. */
export const defaultPath = (options: {
  readonly profile: string;
  readonly home: string;
  readonly xdgStateHome?: string | undefined;
}): string => {
  const { profile, home, xdgStateHome } = options;
  if (!profilePattern.test(profile)) {
    throw new StateError(
      "malformed",
      "that is no profile's name",
      "it is 1 to 64 letters, digits, dots, dashes or underscores",
    );
  }
  const stateHome =
    xdgStateHome !== undefined && isAbsolute(xdgStateHome) ? xdgStateHome : join(home, ".local", "state");
  return join(stateHome, "social-harness", profile);
};

const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StateError(
      "unavailable",
      `the folder ${path} cannot be made (${codeOf(error)})`,
      "check the path and the disk",
      { cause: error },
    );
  }
  PrivateFile.checkPrivate(path);
};

/** A database takes the mode of its file, also for the journals beside it, so the file is made before SQLite does. */
const makePrivate = (path: string): void => {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    // Present, or on a disk that takes no writes: whoever opens the database finds out and says so.
    if (codeOf(error) === "EROFS" || codeOf(error) === "EACCES") return;
    if (codeOf(error) !== "EEXIST") {
      throw unavailable(`${path} cannot be made`, error);
    }
  }
  PrivateFile.checkPrivate(path);
};

/** Keys must not travel with a repository that somebody keeps around the folder. Without the file everything works. */
export const hideFromGit = (path: string): void => {
  try {
    PrivateFile.createOnce(join(path, ".gitignore"), "*\n");
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
  }
};

/** Makes what is missing, and refuses a folder or database with loose permissions, or what is left of a lost store. */
export const open = (path: string): StateFolder => {
  const folder = at(path);
  StoreFile.demandWhole(folder.database);
  makeFolder(folder.path);
  if (!existsSync(folder.identity)) hideFromGit(folder.path);
  makeFolder(folder.logs);
  makePrivate(folder.lock);
  makePrivate(folder.database);
  return folder;
};
