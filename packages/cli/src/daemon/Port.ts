// The port of a daemon: whether it can be had, and who has it. Another endpoint of this program is named by its pid and
// folder, where that folder lies beside this one or among the profiles. Implements RUN-260 and RUN-269.

import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { codeOf } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { failed, type Failure } from "../Failure.ts";
import * as UserFolders from "../UserFolders.ts";
import * as Holding from "./Holding.ts";

const host = "127.0.0.1";
/** Folders that are looked into for the one whose daemon has the port. */
const neighboursMax = 256;

const profiles = (): string | null => {
  const folder = UserFolders.of("XDG_STATE_HOME");
  return folder === null ? null : join(folder, "social-harness");
};

const foldersIn = (path: string | null): ReadonlyArray<string> => {
  if (path === null) return [];
  try {
    return readdirSync(path)
      .slice(0, neighboursMax)
      .map((name) => join(path, name));
  } catch {
    return [];
  }
};

const neighbourAt = (
  folder: StateFolder.StateFolder,
  port: number,
): { readonly pid: number; readonly path: string } | null => {
  const paths = new Set([...foldersIn(dirname(folder.path)), ...foldersIn(profiles())]);
  paths.delete(folder.path);
  for (const path of paths) {
    const other = StateFolder.at(path);
    const written = Holding.writtenIn(other);
    if (written === null || Holding.portOf(written) !== port) continue;
    const daemon = Holding.daemonOf(other);
    if (daemon !== null) return { pid: daemon.pid, path };
  }
  return null;
};

/** The port is the one thing that a second endpoint on a machine has to be told. Everything else passes. */
export const explained = (folder: StateFolder.StateFolder, port: number, error: unknown): unknown => {
  const next = "Give another --port; 0 takes any.";
  const refused = (why: string): Failure => failed("cannot-listen", `port ${port} ${why}`, next, error);
  switch (codeOf(error)) {
    case "EADDRINUSE": {
      const neighbour = neighbourAt(folder, port);
      return refused(
        neighbour === null
          ? "is used by another program"
          : `is used by the daemon with pid ${neighbour.pid}, of ${neighbour.path}`,
      );
    }
    case "EACCES":
      return error instanceof Error && "syscall" in error && error.syscall === "listen"
        ? refused("may not be listened on by this user")
        : error;
    default:
      return error;
  }
};

const tryPort = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });

/** Rejects with a `Failure` where the port is neither free nor that of `holder`, which has the folder now; null where none has. */
export const demandFree = async (
  folder: StateFolder.StateFolder,
  port: number,
  holder: number | null,
): Promise<void> => {
  try {
    await tryPort(port);
  } catch (error) {
    const endpoint = Holding.writtenIn(folder);
    // A daemon of another version may have written what cannot be read here: then nobody can tell before.
    const mayBeHolders = endpoint === null || (endpoint.pid === holder && Holding.portOf(endpoint) === port);
    if (codeOf(error) === "EADDRINUSE" && holder !== null && mayBeHolders) return;
    throw explained(folder, port, error);
  }
};
