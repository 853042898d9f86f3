// What a daemon's log says of its end and of its Router's outages, and the end that a terminal brings with it.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { start, serve, temporaryFolder, type Served } from "../Binary.ts";
import { freePort } from "../Ports.ts";
import { joined, root, startDaemon } from "../Town.ts";

interface Entry {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly explanation?: string;
}

const logOf = (state: string): ReadonlyArray<Entry> =>
  readFileSync(join(state, "logs", "endpoint.log"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Entry);

const saying = (state: string, event: string): ReadonlyArray<Entry> =>
  logOf(state).filter((entry) => entry.event === event);

verifies(
  ["RUN-264", "RUN-265"],
  "a daemon's log says why it stops and that it has, and SIGHUP is as good as SIGTERM",
  async () => {
    const state = join(root, "ada");
    await joined(state, "ada-agent");
    for (const signal of ["SIGTERM", "SIGHUP"] as const) {
      const daemon = await startDaemon(state);
      expect(await daemon.stop(signal)).toBe(0);
      expect(saying(state, "endpoint stopping").at(-1)).toMatchObject({
        level: "info",
        explanation: `told to by ${signal}`,
      });
      expect(logOf(state).at(-1)).toMatchObject({ level: "info", event: "endpoint stopped" });
    }
  },
);

verifies(
  "RUN-265",
  "one whose terminal has gone stops cleanly though nobody reads its last words",
  async () => {
    const state = join(root, "bob");
    await joined(state, "bob-agent");
    const child = start(["daemon", "--state", state, "--port", "0"], {});
    await once(child.stdout, "data");
    child.stdout.destroy();
    child.stderr.destroy();
    child.kill("SIGHUP");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(logOf(state).at(-1)).toMatchObject({ event: "endpoint stopped" });
  },
);

const serveNetwork = (data: string, listen: string): Promise<Served> =>
  serve(["network", "start", "--data", data, "--listen", listen, "--admission", "open", "--json"]);

verifies(
  ["RUN-264", "RUN-265"],
  "an outage of the Router is one line when it begins and one when it is over",
  async () => {
    const data = join(temporaryFolder(), "net");
    const listen = `127.0.0.1:${await freePort()}`;
    const network = await serveNetwork(data, listen);
    const state = join(root, "cyd");
    await joined(state, "cyd-agent", network.ready["invite"] as string);
    const daemon = await startDaemon(state);
    const connected = (times: number) =>
      until(
        "the Router is connected",
        () => saying(state, "the Router is connected").length >= times,
        90_000,
      );
    await connected(1);
    expect(await network.stop("SIGHUP")).toBe(0);
    const begun = () => saying(state, "the Router is not connected");
    await until("the outage is said", () => begun().length > 0);
    // Some attempts fail meanwhile.
    await until("it was tried again", () => saying(state, "router disconnected").length >= 3);
    const again = await serveNetwork(data, listen);
    await connected(2);
    const last = saying(state, "the Router is connected").at(-1);
    expect(last?.explanation).toMatch(/^again, after \d+ s$/);
    const times = begun().map(({ time }) => Date.parse(time));
    for (const [index, time] of times.slice(1).entries()) {
      expect(time - (times[index] as number)).toBeGreaterThanOrEqual(10_000);
    }
    expect(await daemon.stop()).toBe(0);
    expect(await again.stop()).toBe(0);
  },
  120_000,
);
