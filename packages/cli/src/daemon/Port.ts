// The port of a daemon: whether it can be had, and who has it. Another endpoint of this program is named by its pid and
// folder, where that folder lies beside this one or among the profiles. Implements RUN-260 and RUN-269.

import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as Lock from "@social-harness/endpoint/state/Lock";
import { codeOf, StateError } from "@social-harness/endpoint/state/StateError";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { failed, type Failure } from "../Failure.ts";

const host = "127.0.0.1";
/** Folders that are looked into for the one whose daemon has the port. */
const neighboursMax = 256;

const profiles = (): string =>
  dirname(
    StateFolder.defaultPath({
      profile: "default",
      home: homedir(),
      xdgStateHome: process.env["XDG_STATE_HOME"],
    }),
  );

const foldersIn = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path)
      .slice(0, neighboursMax)
      .map((name) => join(path, name));
  } catch {
    return [];
  }
};

/** What the folder's daemon wrote down of itself; null where there is none, or where it cannot be read here. */
const endpointOf = (folder: StateFolder.StateFolder): EndpointFile.Endpoint | null => {
  try {
    return EndpointFile.read(folder);
  } catch (error) {
    if (error instanceof StateError) return null;
    throw error;
  }
};

/** Whether that process holds the folder. The lock of this very process must not be opened again. */
const isHeldBy = (folder: StateFolder.StateFolder, pid: number): boolean => {
  if (pid === process.pid) return true;
  if (!existsSync(folder.lock)) return false;
  try {
    const holder = Lock.look(folder);
    return holder?.kind === "process" && holder.pid === pid;
  } catch (error) {
    if (error instanceof StateError) return false;
    throw error;
  }
};

const portOf = ({ mcpUrl }: EndpointFile.Endpoint): number => Number(new URL(mcpUrl).port);

const neighbourAt = (
  folder: StateFolder.StateFolder,
  port: number,
): { readonly pid: number; readonly path: string } | null => {
  const paths = new Set([...foldersIn(dirname(folder.path)), ...foldersIn(profiles())]);
  paths.delete(folder.path);
  for (const path of paths) {
    const other = StateFolder.at(path);
    const endpoint = endpointOf(other);
    if (endpoint === null || portOf(endpoint) !== port || !isHeldBy(other, endpoint.pid)) continue;
    return { pid: endpoint.pid, path };
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

/** Rejects with a `Failure` where the port is neither free nor that of the process, which holds the folder now. */
export const demandFree = async (
  folder: StateFolder.StateFolder,
  port: number,
  holder: number,
): Promise<void> => {
  try {
    await tryPort(port);
  } catch (error) {
    const endpoint = endpointOf(folder);
    // A daemon of another version may have written what cannot be read here: then nobody can tell before.
    const mayBeHolders = endpoint === null || (endpoint.pid === holder && portOf(endpoint) === port);
    if (codeOf(error) === "EADDRINUSE" && mayBeHolders) return;
    throw explained(folder, port, error);
  }
};
