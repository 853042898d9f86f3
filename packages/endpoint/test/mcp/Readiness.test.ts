import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import type { Health } from "../../src/operations/Health.ts";
import * as RawHttp from "./RawHttp.ts";
import { healthy, metricsToken, ownerToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

let standing: () => Health = () => healthy;
let endpoint: TestEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint({ health: () => standing() });
});
afterAll(() => endpoint.close());

const owner = { authorization: `Bearer ${ownerToken}` };
const ask = (headers: RawHttp.Post["headers"] = owner, method = "GET") =>
  RawHttp.send(endpoint.port, { method, path: "/readyz", headers });

verifies(
  ["MGT-14", "RUN-296", "RUN-297"],
  "the owner reads how the endpoint stands, and the status tells whether it is ready",
  async () => {
    const restored = {
      at: "2026-07-28T00:00:00.000Z",
      conversations: 1,
      addresses: ["agent:bob"],
      explanation: "an old copy",
    };
    const routerTrouble = { reason: "untrusted-certificate", explanation: "not trusted" } as const;
    const storeTrouble = { reason: "full", since: "2026-07-28T00:00:00.000Z", explanation: "full" } as const;
    const standings: ReadonlyArray<readonly [Health, number | string]> = [
      [healthy, 200],
      [{ ...healthy, pendingPosts: 3, pendingAddresses: ["agent:bob"] }, 200],
      [
        {
          ...healthy,
          routerChanged: { reason: "rolled-back", at: "2026-07-28T00:00:00.000Z", explanation: "went back" },
          conversationsChanging: 2,
        },
        200,
      ],
      [{ ...healthy, registered: false, routerConnected: false, routerSince: null }, "unregistered"],
      [{ ...healthy, routerConnected: false }, "router-connecting"],
      [{ ...healthy, routerConnected: false, routerTrouble }, "router-untrusted-certificate"],
      [{ ...healthy, storeTrouble, routerConnected: false }, "store-full"],
      [{ ...healthy, restored }, 200],
    ];
    for (const [health, expected] of standings) {
      standing = () => health;
      const answer = await ask();
      const said =
        expected === 200
          ? ([200, { status: "ok" }] as const)
          : ([503, { status: "not-ready", cause: expected }] as const);
      expect([answer.status, answer.body]).toEqual([said[0], { ...said[1], ...health }]);
      const measured = await ask({ authorization: `Bearer ${metricsToken}` });
      expect([measured.status, measured.body]).toEqual(said);
      expect(answer.headers["cache-control"]).toBe("no-store");
    }
    standing = () => {
      throw new Error("secret");
    };
    const broken = await ask();
    expect([broken.status, broken.body]).toEqual([503, { status: "not-ready", cause: "store-unreadable" }]);
    expect(endpoint.log.at(-1)).toMatchObject({ level: "error", fields: { message: "secret" } });
    standing = () => healthy;
  },
);

verifies("MGT-14", "nobody else does, and by no other method", async () => {
  for (const headers of [
    {},
    { authorization: "Bearer wrong" },
    { authorization: `Basic ${ownerToken}` },
    { authorization: [`Bearer ${ownerToken}`, `Bearer ${ownerToken}`] },
  ]) {
    const answer = await ask(headers);
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect(answer.text).not.toContain("routerConnected");
  }
  expect((await ask({ ...owner, host: `evil.com:${endpoint.port}` })).status).toBe(403);
  expect((await ask({ ...owner, origin: "http://evil.com" })).status).toBe(403);
  expect((await ask({ ...owner, "sec-fetch-site": "cross-site" })).status).toBe(403);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await ask(owner, method);
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, "GET"]);
  }
  expect((await ask({}, "POST")).status).toBe(401);
});
