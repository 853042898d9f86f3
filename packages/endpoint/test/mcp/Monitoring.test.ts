// What the token for measurements shows, and that it opens nothing.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { metricsToken, noOwner, ownerToken, startEndpoint } from "./TestEndpoint.ts";

const modes = ["trusted-local", "credentials"] as const;
const measured = RawHttp.bearer(metricsToken);

const start = async (mode: (typeof modes)[number]) => {
  const owner = { ...noOwner, metrics: () => "a_page 1\n" };
  const endpoint = await startEndpoint({ mode, owner });
  onTestFinished(() => endpoint.close());
  return endpoint;
};

verifies(
  "RUN-297",
  "the token for measurements shows health and counts, under the gate's rules",
  async () => {
    for (const mode of modes) {
      const { port } = await start(mode);
      const ask = (path: string, headers = measured, method = "GET") =>
        RawHttp.send(port, { method, path, headers });
      const health = await ask("/healthz");
      expect([health.status, health.body]).toEqual([200, { status: "ok" }]);
      const ready = await ask("/readyz");
      expect([ready.status, ready.body]).toEqual([200, { status: "ok" }]);
      const page = await ask("/metrics");
      expect([page.status, page.text]).toEqual([200, "a_page 1\n"]);
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        expect((await ask(path, { ...measured, host: "evil.example" })).status).toBe(403);
        expect((await ask(path, { ...measured, origin: "http://evil.example" })).status).toBe(403);
        expect((await ask(path, measured, "POST")).status).toBe(405);
        expect((await ask(path, RawHttp.bearer(`${metricsToken}x`))).status).toBe(401);
        expect((await ask(path, RawHttp.bearer(ownerToken))).status).toBe(200);
      }
    }
  },
);

verifies(
  "RUN-297",
  "it opens no tool, no event and no path of the owner, and tells no path from another",
  async () => {
    for (const mode of modes) {
      const endpoint = await start(mode);
      const { port } = endpoint;
      for (const method of ["server/discover", "tools/list", "tools/call", "events/list", "events/stream"]) {
        const answer = await RawHttp.rpc(port, method, { name: "status", arguments: {} }, metricsToken);
        expect([method, answer.status]).toEqual([method, 401]);
      }
      for (const [method, path] of [
        ["GET", "/evidence"],
        ["POST", "/rounds"],
        ["POST", "/withdrawals"],
        ["POST", "/probes"],
        ["GET", "/webhook/attempts"],
        ["POST", "/webhook/test"],
        ["GET", "/mcp"],
        ["GET", "/nowhere"],
        ["GET", "/metrics/"],
        ["GET", "/metrics?x"],
      ] as const) {
        const answer = await RawHttp.send(port, { method, path, headers: measured, body: "{}" });
        expect([path, answer.status, answer.headers["www-authenticate"]]).toEqual([path, 401, "Bearer"]);
      }
    }
  },
);
