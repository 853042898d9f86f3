// What a Registry says of itself to whoever operates it.

import { expect } from "vitest";
import type { Log } from "@social-harness/log/Log";
import { LogError } from "@social-harness/log/LogError";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Wire from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import { agentOf, expectError, send, sendJson, startNetwork } from "../TestNetwork.ts";

const lookup = CanonicalJson.encode({ agentName: "alice" });

verifies("IDN-29", "healthz says that the process runs, readyz that its log can be read", async () => {
  let failing = false;
  const log = openMemoryLog();
  const flaky: Log = {
    ...log,
    read: (stream, from, limit) =>
      failing ? Promise.reject(new LogError("unavailable", "no disk")) : log.read(stream, from, limit),
  };
  const { url, lines } = await startNetwork({ log: flaky });
  const get = (path: string) => send(url, path, null, { method: "GET" });
  expect([(await get("/healthz")).status, (await get("/readyz")).status]).toEqual([200, 200]);
  failing = true;
  expect((await get("/healthz")).status).toBe(200);
  const unready = await get("/readyz");
  expect([unready.status, unready.text]).toEqual([503, '{"cause":"log-unavailable","status":"not-ready"}']);
  expectError(await send(url, Wire.lookupPath, lookup), "unavailable");
  expectError(await sendJson(url, Wire.registerPath, agentOf("alice").registration), "unavailable");
  expect(lines.some(({ event, level }) => event === "log_unusable" && level === "error")).toBe(true);
  failing = false;
  expect((await get("/readyz")).text).toBe('{"status":"ok"}');
});

verifies(
  ["RUN-294", "RUN-295"],
  "a Registry whose log is damaged while it runs says so once and with what is known of it, in the measurements too",
  async () => {
    let failure: LogError | null = null;
    const log = openMemoryLog();
    const flaky: Log = {
      ...log,
      read: (stream, from, limit) =>
        failure === null ? log.read(stream, from, limit) : Promise.reject(failure),
    };
    const { url, lines } = await startNetwork({
      log: flaky,
      mayReadMetrics: () => true,
      aboutLog: (error) => ({
        file: "/net/registry.sqlite",
        ...(error === null ? {} : { next: "restore it" }),
      }),
    });
    const get = (path: string) => send(url, path, null, { method: "GET" });
    const usable = async () =>
      /^social_harness_registry_log_usable (\d)$/m.exec((await get("/metrics")).text)?.[1];
    expect(await usable()).toBe("1");
    failure = new LogError("damaged", "no sound database");
    for (let n = 0; n < 3; n++) expectError(await send(url, Wire.lookupPath, lookup), "unavailable");
    const unready = await get("/readyz");
    expect([unready.status, JSON.parse(unready.text)]).toEqual([
      503,
      { status: "not-ready", cause: "log-damaged" },
    ]);
    expect(await usable()).toBe("0");
    const said = () => lines.filter(({ level }) => level !== "info");
    const file = "/net/registry.sqlite";
    expect(said()).toMatchObject([
      {
        event: "log_unusable",
        fields: { reason: "damaged", explanation: "no sound database", file, next: "restore it" },
      },
    ]);
    // Nobody registers, and it is over all the same.
    failure = null;
    expect((await get("/readyz")).status).toBe(200);
    expect(await usable()).toBe("1");
    expect(said().at(-1)).toMatchObject({ event: "log_works_again", fields: { file } });
  },
);

verifies("RUN-146", "counts are for whoever may read them, and name no agent", async () => {
  const { url } = await startNetwork({
    admission: "open",
    mayReadMetrics: (authorization) => authorization === "Bearer m",
  });
  const { registration } = agentOf("alice");
  await sendJson(url, Wire.registerPath, registration);
  expectError(await send(url, Wire.lookupPath, "{"), "malformed");
  const read = (headers: Record<string, string>, method = "GET") =>
    fetch(`${url}/metrics`, { method, headers });
  expectError(await send(url, "/metrics", null, { method: "GET" }), "authentication_failed");
  const counted = await read({ authorization: "Bearer m" });
  const text = await counted.text();
  expect([counted.status, counted.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  for (const line of [
    "agents 1",
    "answered_total 1",
    'refused_total{error="malformed"} 1',
    'refused_total{error="authentication_failed"} 1',
    'registrations_total{result="registered"} 1',
  ]) {
    expect(text).toContain(`social_harness_registry_${line}\n`);
  }
  expect(text).not.toContain("alice");
  expect((await read({ authorization: "Bearer m" }, "POST")).status).toBe(405);
  const without = await startNetwork();
  expectError(await send(without.url, "/metrics", null, { method: "GET" }), "not_found");
});
