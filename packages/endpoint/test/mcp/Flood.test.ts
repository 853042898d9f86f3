// C42: whoever has no token, or a wrong one, can be as many as they like and keep nobody out who has one.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, describe, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, runtimeToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

const cleanUps: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const start = async (options: Parameters<typeof startEndpoint>[0]): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  cleanUps.push(endpoint.close);
  return endpoint;
};

const flood = async (port: number, way: string): Promise<void> => {
  const child = spawn(process.execPath, [
    fileURLToPath(new URL("./Flooder.ts", import.meta.url)),
    `${port}`,
    way,
  ]);
  const ended = once(child, "exit");
  cleanUps.push(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await once(child.stdout, "data");
};

/** The patience of the command line, on a machine that the flood keeps busy. */
const answerMsMax = 10_000;
const calls = 12;

describe("C42", () => {
  for (const way of ["silence", "half a head", "no token", "wrong tokens", "everything"]) {
    verifies("MGT-75", `a flood of ${way} does not keep out who has a token`, async () => {
      const endpoint = await start({ mode: "credentials" });
      await flood(endpoint.port, way);
      let slowest = 0;
      for (let i = 0; i < calls; i++) {
        // Each on a connection of its own: nobody here lives on one that was opened in better times.
        const begun = performance.now();
        const call =
          i % 2 === 0 ? (["status", ownerToken] as const) : (["search_agents", runtimeToken] as const);
        const answer = await RawHttp.callTool(endpoint.port, call[0], {}, call[1]);
        expect([call[0], answer.status, answer.body.error]).toEqual([call[0], 200, undefined]);
        slowest = Math.max(slowest, performance.now() - begun);
      }
      expect(slowest).toBeLessThan(answerMsMax);
      const readiness = { method: "GET", path: "/readyz", headers: RawHttp.bearer(ownerToken) };
      expect((await RawHttp.send(endpoint.port, readiness)).status).toBe(200);
      // Of thousands of refusals the log has a few lines, and nothing of what was offered.
      expect(endpoint.log.filter(({ event }) => event === "requests were refused").length).toBeLessThan(10);
      expect(JSON.stringify(endpoint.log)).not.toContain("wrong");
    });
  }

  verifies("MGT-75", "an open stream of a caller with a token outlives a flood", async () => {
    const endpoint = await start({ mode: "credentials", heartbeatMs: 50 });
    const name = "org.social-harness/inbox.pending";
    const stream = await RawHttp.stream(endpoint.port, "events/stream", { name }, 1, ownerToken);
    expect((await stream.next())?.method).toBe("notifications/events/active");
    await flood(endpoint.port, "everything");
    for (let i = 0; i < 10; i++) {
      expect((await stream.next())?.method).toBe("notifications/events/heartbeat");
    }
    stream.leave();
  });

  verifies("MGT-75", "local callers that listen in all their places leave the owner's alone", async () => {
    const endpoint = await start({});
    const listen = (token?: string) =>
      RawHttp.stream(
        endpoint.port,
        "subscriptions/listen",
        { notifications: { toolsListChanged: true } },
        1,
        token,
      );
    const streams: Array<RawHttp.FrameStream> = [];
    for (let i = 0; i < 64; i++) {
      const stream = await listen();
      expect((await stream.next())?.method).toBe("notifications/subscriptions/acknowledged");
      streams.push(stream);
    }
    const tooMany = await RawHttp.rpc(endpoint.port, "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    expect(tooMany.body.error).toBeDefined();
    const owned = await listen(ownerToken);
    expect((await owned.next())?.method).toBe("notifications/subscriptions/acknowledged");
    for (const stream of [...streams, owned]) stream.leave();
  });

  verifies("MGT-75", "local callers that use all their connections leave the owner's alone", async () => {
    const hanging = Promise.withResolvers<never>();
    hanging.promise.catch(() => {});
    const endpoint = await start({ overrides: { searchAgents: () => hanging.promise } });
    const asking = Array.from({ length: 300 }, () =>
      RawHttp.callTool(endpoint.port, "search_agents", {}).catch(() => null),
    );
    const tooMany = await Promise.any(asking);
    expect([tooMany?.status, tooMany?.body.error?.message]).toEqual([
      503,
      "All 256 connections of this kind of caller are in use. Try again in a second, or close some.",
    ]);
    expect((await RawHttp.callTool(endpoint.port, "status", {})).status).toBe(503);
    expect((await RawHttp.callTool(endpoint.port, "status", {}, ownerToken)).status).toBe(200);
    hanging.reject(new Error("enough"));
    const statuses = (await Promise.all(asking)).map((answer) => answer?.status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(44);
    expect((await RawHttp.callTool(endpoint.port, "status", {})).status).toBe(200);
  });
});
