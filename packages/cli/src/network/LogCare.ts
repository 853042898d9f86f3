// The logs of a network's two services in words for its operator: whose log it is, where it stands and what helps when it
// cannot be used, at a start and while it runs. What cures the one would harm the other: a damaged Registry's log is
// restored, a Router's is given up. Implements RUN-294.

import type { AboutLog } from "@social-harness/log/LogTrouble";
import { faultOf, wordOf } from "@social-harness/log/SqliteFault";
import { failed, type Failure } from "../Failure.ts";
import type { NetworkFiles } from "./NetworkFiles.ts";

type Service = "Registry" | "Router";

const pathOf = ({ registryLog, routerLog }: NetworkFiles, service: Service): string =>
  service === "Registry" ? registryLog : routerLog;

const damaged = (service: Service): string => {
  switch (service) {
    case "Registry":
      return "With the network stopped, restore registry.sqlite from your backup, with registry.sqlite-wal where that has it. Without one, names can be taken again by others: see --registry-lost.";
    case "Router":
      return "With the network stopped, remove router.sqlite, router.sqlite-wal and router.sqlite-shm, and start it again: that costs each conversation a round and nothing that is certified. Restore no old copy of them.";
  }
};

/** `after` says what follows when the cause is gone. */
const cureOf = (service: Service, error: unknown, after: string): string => {
  const fault = wordOf(error);
  switch (fault) {
    case "damaged":
      return damaged(service);
    case "full":
      return `Make room on its disk; then ${after}.`;
    case "read-only":
      return `Make it and its disk writable; then ${after}.`;
    case "locked":
      return `End the program that holds it; then ${after}.`;
    case "input-output":
      return `Look at the system's log, its disk fails or is read-only; when that works, ${after}.`;
    case "gone":
      return "Stop the network, put the folder back as it was, and start it again.";
    case "unavailable":
      return `Check its disk, its permissions and who else has it open; then ${after}.`;
  }
};

/** The failure of a start, or of a command that reads a log; null for an error that comes from no log. */
export const failureOf = (folder: NetworkFiles, service: Service, error: unknown): Failure | null => {
  const known = faultOf(error);
  if (known === null) return null;
  const next =
    known.reason === "newer"
      ? "Run the installation that wrote it, or update this one."
      : cureOf(service, error, "start it again");
  const message = `the ${service}'s log ${pathOf(folder, service)} cannot be used: ${known.message}`;
  return failed(`log-${known.reason}`, message, next, error);
};

/** Runs what uses the log of that service. */
export const using = <A>(folder: NetworkFiles, service: Service, work: () => A): A => {
  try {
    return work();
  } catch (error) {
    throw failureOf(folder, service, error) ?? error;
  }
};

/** What the running service says of its log beside the trouble itself. */
export const about =
  (folder: NetworkFiles, service: Service): AboutLog =>
  (error) => {
    const named = { service, file: pathOf(folder, service) };
    return error === null ? named : { ...named, next: cureOf(service, error, "it goes on by itself") };
  };
