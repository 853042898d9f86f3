// What a daemon costs while nothing happens: the real binary, run from its sources, joined to a real network.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as Invite from "@social-harness/registry/Invite";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { describe, expect, onTestFinished } from "vitest";

const binary = fileURLToPath(new URL("../../../cli/bin/social-harness.js", import.meta.url));
const residentMegabytesMax = 160;

/** Resident memory of another process, in megabytes, as Linux tells it. */
const residentMegabytes = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
};

const stopped = (child: ChildProcess): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  child.kill("SIGTERM");
  return promise;
};

describe.skipIf(!existsSync("/proc/self/status"))("on Linux", () => {
  verifies("RUN-27", "an idle daemon stays under 160 MB of resident memory", async () => {
    const network = await testNetwork();
    const { registryUrl, registryKey, routerUrl, routerKey } = network;
    const invite = Invite.encode({ registryUrl, registryKey, routerUrl, routerKey } as Invite.Invite);
    const state = join(network.folder, "ada");
    const words = ["--state", state];
    await promisify(execFile)(process.execPath, [binary, "join", invite, "--name", "ada-agent", ...words]);
    const daemon = spawn(process.execPath, [binary, "daemon", "--port", "0", ...words], { stdio: "ignore" });
    onTestFinished(() => stopped(daemon));
    await until("the daemon is ready", () => existsSync(join(state, "endpoint.json")));
    const peer = await network.open("bob-agent");
    expect((await peer.send("agent:ada-agent", "Are you at rest?")).status).toBe("certified");
    expect(residentMegabytes(daemon.pid as number)).toBeLessThan(residentMegabytesMax);
  });
});
