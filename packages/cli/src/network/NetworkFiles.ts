// Where the files of one network stand in its folder: its keys, the logs of its two services, where these were reached
// last, and the token for their counts. Knows names and opens nothing.

import { join } from "node:path";

/** Whether or not they exist. */
export interface NetworkFiles {
  readonly path: string;
  readonly keys: string;
  readonly registryLog: string;
  readonly routerLog: string;
  readonly reached: string;
  /** Held by the process that serves the network. */
  readonly lock: string;
  /** Opens the counts of both services to whoever reads it. */
  readonly metricsToken: string;
}

export const at = (path: string): NetworkFiles => ({
  path,
  keys: join(path, "network.json"),
  registryLog: join(path, "registry.sqlite"),
  routerLog: join(path, "router.sqlite"),
  reached: join(path, "reached.json"),
  lock: join(path, "lock"),
  metricsToken: join(path, "metrics-token"),
});
