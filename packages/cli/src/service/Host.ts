// What this machine has to look after services, and what a daemon that it starts would be started with.

import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { failed, misused, type Failure } from "../Failure.ts";
import * as UserFolders from "../UserFolders.ts";
import * as FirstLine from "./FirstLine.ts";
import * as Launchd from "./Launchd.ts";
import type { Manager, Service } from "./Service.ts";
import { nameOf } from "./Service.ts";
import * as Systemd from "./Systemd.ts";

/**
 * What a service keeps of the environment: how a network's own authority of certificates is told, without which its daemon connects
 * to nobody, and what the first line of the single file sets, where somebody has set it otherwise.
 */
const passedOn: ReadonlyArray<readonly [name: string, isPath: boolean]> = [
  ["NODE_EXTRA_CA_CERTS", true],
  ["MALLOC_ARENA_MAX", false],
  ["MALLOC_MMAP_THRESHOLD_", false],
];

export const manager = (): Manager => {
  const noHome = (): Failure => misused(UserFolders.none, "Set it: the service's file goes there.");
  if (process.platform === "darwin") {
    const home = UserFolders.home();
    if (home === null) throw noHome();
    return Launchd.create(home, process.getuid?.() ?? 0);
  }
  if (process.platform === "linux") {
    const folder = UserFolders.of("XDG_CONFIG_HOME");
    if (folder === null) throw noHome();
    return Systemd.create(folder);
  }
  throw failed(
    "no-service-manager",
    "services are written for systemd and launchd, and this system has neither",
    "Have your system's own means start `social-harness daemon`.",
  );
};

/** The daemon of a state folder, started by the program that this command is run by. */
export const serviceOf = (path: string): Service => {
  const state = resolve(path);
  const program = realpathSync(process.argv[1] ?? "");
  const { environment, flags } = FirstLine.read(program);
  const own = process.execArgv;
  const kept = passedOn.flatMap(([name, isPath]) => {
    const value = process.env[name];
    return value === undefined || value === "" ? [] : [[name, isPath ? resolve(value) : value] as const];
  });
  return {
    name: nameOf(state),
    state,
    // By `node FILE` the flags of the first line were left out. Whoever gave others keeps them: of two, the later one counts.
    command: [
      process.execPath,
      ...flags.filter((flag) => !own.includes(flag)),
      ...own,
      program,
      "daemon",
      "--state",
      state,
    ],
    environment: { ...environment, ...Object.fromEntries(kept) },
  };
};

/** What `npx` fetched goes again when it cleans up. */
export const isPassing = ({ command }: Service): boolean =>
  command.some((word) => /[\\/]_npx[\\/]/.test(word));
