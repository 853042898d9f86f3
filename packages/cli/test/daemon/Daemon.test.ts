// The daemon's port through starts and stops in quick succession.

import { type EventEmitter, once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { Agent, get } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect } from "vitest";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as LogFiles from "@social-harness/endpoint/state/LogFiles";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Daemon from "../../src/daemon/Daemon.ts";
import { failureOf, lastJson, run, runHere, serve } from "../Binary.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
/** Keeps its connections open: whoever closes first waits for late packets, and here that is the daemon. */
const agent = new Agent({ keepAlive: true });
let folder: StateFolder.StateFolder;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  folder = StateFolder.open(ada);
});
afterAll(() => agent.destroy());

const start = (port: number): Promise<Daemon.Daemon> =>
  Daemon.start(folder, Configuration.load(folder, { flags: { port: String(port) } }));

const statusOf = async (mcpUrl: string): Promise<number | undefined> => {
  const headers = { authorization: `Bearer ${Tokens.ownerOf(folder, "trusted-local")}` };
  const request = get(new URL("/healthz", mcpUrl), { agent, headers });
  const [answer] = await once(request, "response");
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
};

verifies(
  "RUN-150",
  "C56: fifty starts in quick succession get the same port, and each serves",
  async () => {
    let daemon = await start(0);
    const { mcpUrl } = daemon;
    const port = Number(new URL(mcpUrl).port);
    for (let restarts = 0; restarts < 50; restarts++) {
      expect([restarts, await statusOf(mcpUrl)]).toEqual([restarts, 200]);
      await daemon.close();
      expect(existsSync(folder.endpoint)).toBe(false);
      daemon = await start(port);
      expect(daemon.mcpUrl).toBe(mcpUrl);
    }
    await daemon.close();
  },
  120_000,
);

verifies("RUN-150", "C56: a port of another program is named, and the folder is free at once", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  for (let tries = 0; tries < 3; tries++) {
    const refused = await runHere(["daemon", "--state", ada, "--port", String(port), "--json"]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "cannot-listen"]);
    expect(failureOf(refused).message).toContain(`port ${port}`);
    expect(existsSync(folder.endpoint)).toBe(false);
  }
  other.close();
  await once(other, "close");
  const daemon = await start(port);
  expect(await statusOf(daemon.mcpUrl)).toBe(200);
  await daemon.close();
});

verifies("RUN-150", "C56: killed and started again at once, it has its port and is found", async () => {
  let daemon = await startDaemon(ada);
  const url = daemon.ready["mcpUrl"];
  for (let kills = 0; kills < 4; kills++) {
    expect(await statusOf(url as string)).toBe(200);
    await daemon.stop(kills % 2 === 0 ? "SIGKILL" : "SIGTERM");
    const { port } = new URL(url as string);
    daemon = await serve(["daemon", "--state", ada, "--port", port, "--json"]);
    expect(daemon.ready["mcpUrl"]).toBe(url);
    expect(await json("status", "--state", ada)).toMatchObject({ kind: "active" });
  }
  expect(await daemon.stop()).toBe(0);
});

/** Whether this machine has the loopback address of IPv6. */
const hasIpv6 = async (): Promise<boolean> => {
  const server = createServer().listen(0, "::1");
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  server.close();
  return isListening;
};

verifies("RUN-150", "C56: a network on IPv6 alone is joined and used", async ({ skip }) => {
  if (!(await hasIpv6())) skip("this machine has no ::1");
  const data = join(root, "net6");
  const network = await serve(["network", "start", "--data", data, "--listen", "[::1]:0", "--json"]);
  expect(network.ready["registryUrl"]).toMatch(/^http:\/\/\[::1\]:\d+$/);
  const { invite } = lastJson(
    await run(["network", "invite", "create", "--data", data, "--uses", "2", "--json"]),
  );
  const states = ["six", "sixteen"].map((name) => join(root, name));
  for (const state of states) await joined(state, `${state.split("/").at(-1)}-agent`, invite as string);
  const daemons = await Promise.all(states.map(startDaemon));
  expect(await json("send", "agent:sixteen-agent", "over six", "--state", states[0] as string)).toMatchObject(
    {
      status: "certified",
    },
  );
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
  expect(await network.stop()).toBe(0);
});

verifies("RUN-332", "why it could not start, and the defect that ends it, stand in its log", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(start(port)).rejects.toThrow(`port ${port}`);
  other.close();
  const daemon = await start(0);
  const defect = new RangeError("nobody foresaw this");
  (process as EventEmitter).emit("uncaughtExceptionMonitor", defect, "uncaughtException");
  await daemon.close();
  const said = LogFiles.open(folder.logs)
    .last(100, ({ level }) => level === "error")
    .lines.slice(-2);
  expect(said).toMatchObject([
    { event: "the daemon could not start", reason: "cannot-listen" },
    { event: "the daemon ends on a defect", error: "RangeError", message: "nobody foresaw this" },
  ]);
  expect(process.listenerCount("uncaughtExceptionMonitor")).toBe(0);
});
