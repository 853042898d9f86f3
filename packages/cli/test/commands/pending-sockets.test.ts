// Commands end although others have left them hanging: a proxy that never answers, collectors that never finish.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { startSilentProxy } from "@social-harness/testkit/network/SilentProxy";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, run, serve, type Served } from "../Binary.ts";
import { joined, json, network, root, startDaemon } from "../Town.ts";
import { closeInTime } from "../../src/Waiting.ts";

const stopMsMax = 5_000;
const cleanUps: Array<() => unknown> = [];
afterAll(() => {
  for (const cleanUp of cleanUps) cleanUp();
});

const stopTime = async (served: Served): Promise<number> => {
  const started = performance.now();
  expect(await served.stop()).toBe(0);
  return performance.now() - started;
};

const behindSilentProxy = async (name: string) => {
  const state = join(root, name);
  await joined(state, `${name}-agent`);
  const path = join(state, "config.json");
  const configuration = JSON.parse(readFileSync(path, "utf8")) as object;
  const away = { registryUrl: "https://net.example.test:7400", routerUrl: "wss://net.example.test:7401" };
  writeFileSync(path, JSON.stringify({ ...configuration, ...away }), { mode: 0o600 });
  const proxy = await startSilentProxy("none");
  cleanUps.push(proxy.close);
  return { state, proxy, env: { ...proxy.environment, NODE_USE_ENV_PROXY: "1" } };
};

verifies(
  ["RUN-310", "RTR-55"],
  "doctor and a daemon's stop end behind a proxy that never answers",
  async () => {
    const { state, proxy, env } = await behindSilentProxy("ada");
    const examined = await run(["doctor", "--state", state, "--json"], { env });
    expect(examined.code).toBe(1);
    expect(lastJson(examined)).toHaveProperty("findings");
    expect(proxy.taken()).toBeGreaterThan(0);
    const before = proxy.taken();
    const daemon = await serve(["daemon", "--state", state, "--port", "0", "--json"], { env });
    await until("the Router is asked for", () => proxy.taken() > before);
    expect(await stopTime(daemon)).toBeLessThan(stopMsMax);
  },
  120_000,
);

/** What a collector says, and then nothing more. */
const collectors = {
  silent: "",
  failing: "HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n",
  "in half a body": "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc",
} as const;

for (const [manner, answer] of Object.entries(collectors)) {
  verifies(
    ["RUN-310", "RUN-312"],
    `a stop ends with a collector that is ${manner}, whatever it is given in the environment`,
    async () => {
      const sockets: Array<Socket> = [];
      let asked = 0;
      const collector = createServer((socket) => {
        sockets.push(socket);
        socket
          .on("error", () => undefined)
          .on("data", () => {
            asked += 1;
            socket.write(answer);
          });
      });
      collector.listen(0, "127.0.0.1");
      await once(collector, "listening");
      cleanUps.push(() => {
        collector.close();
        for (const socket of sockets) socket.destroy();
      });
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
        OTEL_EXPORTER_OTLP_TIMEOUT: "60000",
        OTEL_BSP_SCHEDULE_DELAY: "50",
      };
      const name = manner.replaceAll(" ", "-");
      const [state, peer] = [join(root, name), join(root, `${name}-peer`)];
      await joined(state, `${name}-agent`);
      await joined(peer, `${name}-peer`);
      const daemons = [
        await serve(["daemon", "--state", state, "--port", "0", "--json"], { env }),
        await startDaemon(peer),
      ] as const;
      await json("send", `agent:${name}-peer`, "traced", "--state", state);
      await until("the collector is told", () => asked > 0);
      process.kill(network.pid, "SIGSTOP");
      try {
        const waits = run(["send", `agent:${name}-peer`, "waits", "--state", state, "--json"]);
        const pending = async () =>
          ((await json("status", "--state", state))["health"] as { pendingPosts: number }).pendingPosts;
        await expect.poll(pending, { timeout: 30_000 }).toBe(1);
        expect(await stopTime(daemons[0])).toBeLessThan(stopMsMax);
        await waits;
        expect(await stopTime(daemons[1])).toBeLessThan(stopMsMax);
      } finally {
        process.kill(network.pid, "SIGCONT");
      }
    },
    60_000,
  );
}

verifies("RUN-311", "a part that never closes does not keep the whole", async () => {
  await closeInTime(async () => undefined);
  await expect(closeInTime(() => new Promise(() => undefined), 10)).rejects.toMatchObject({
    reason: "stop-late",
    exitCode: 1,
  });
});
