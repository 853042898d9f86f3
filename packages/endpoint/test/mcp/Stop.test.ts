// What a clean stop promises in seconds, and what it says to whom meanwhile: its waits are the test's to end.

import { once } from "node:events";
import { connect } from "node:net";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { metricsToken, ownerToken, startEndpoint } from "./TestEndpoint.ts";

const cleanUps: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A stop that has begun and waits for a call, until `goOn`; and what it was told to wait, so far. */
const stopping = async () => {
  const waits: Array<number> = [];
  const grace = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const endpoint = await startEndpoint({
    mode: "credentials",
    pause: (ms) => {
      waits.push(ms);
      if (waits.length === 1) return grace.promise;
      // The frames leave in no time; only a second stop, which cleans up, has nobody to wait for.
      return waits.length === 2 ? new Promise(() => {}) : Promise.resolve();
    },
    overrides: {
      searchAgents: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    },
  });
  cleanUps.push(endpoint.close, grace.resolve);
  /** A connection that has begun to ask, and what it hears once it has asked. */
  const halfAsked = async (token?: string, target = "POST /mcp") => {
    const { port } = endpoint;
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    const line = `${target} HTTP/1.1\r\n`;
    await new Promise<void>((resolve) => void socket.write(line, () => resolve()));
    return async (): Promise<string> => {
      const headers = Object.entries({
        host: `127.0.0.1:${port}`,
        "content-length": "0",
        ...RawHttp.bearer(token),
      });
      socket.write(`${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
      let text = "";
      for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString("latin1");
      return text;
    };
  };
  return { endpoint, waits, goOn: grace.resolve, begun: begun.promise, halfAsked };
};

verifies("MGT-11", "open calls get a second, their last frames another, and no more", async () => {
  const { endpoint, waits, goOn, begun } = await stopping();
  const endless = RawHttp.callTool(endpoint.port, "search_agents", {}, ownerToken);
  await begun;
  const closed = endpoint.server.close();
  await expect.poll(() => waits.length).toBe(1);
  goOn();
  expect((await endless).status).toBe(503);
  await closed;
  expect(waits).toEqual([1_000, 1_000]);
});

verifies("RUN-296", "readiness says during a stop that the endpoint stops", async () => {
  const { endpoint, goOn, begun, halfAsked } = await stopping();
  const endless = RawHttp.callTool(endpoint.port, "search_agents", {}, ownerToken);
  await begun;
  const asked = [await halfAsked(ownerToken, "GET /readyz"), await halfAsked(metricsToken, "GET /readyz")];
  await RawHttp.callTool(endpoint.port, "status", {}, ownerToken);
  const closed = endpoint.server.close();
  for (const ask of asked) {
    const answer = await ask();
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*\{"status":"not-ready","cause":"stopping"\}/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  }
  goOn();
  await endless;
  await closed;
});

verifies(
  "MGT-194",
  "a stranger meets the gate during a stop as well, and who may speak hears of it",
  async () => {
    const { endpoint, goOn, begun, halfAsked } = await stopping();
    const endless = RawHttp.callTool(endpoint.port, "search_agents", {}, ownerToken);
    await begun;
    const [stranger, liar, owner] = [
      await halfAsked(),
      await halfAsked("wrong"),
      await halfAsked(ownerToken),
    ];
    // Whoever came later was accepted and read later, so that all of them have been by now.
    await RawHttp.callTool(endpoint.port, "status", {}, ownerToken);
    const closed = endpoint.server.close();
    expect(await stranger()).toMatch(/^HTTP\/1\.1 401 /);
    expect(await liar()).toMatch(/^HTTP\/1\.1 401 /);
    const answer = await owner();
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*The endpoint is stopping\./);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    goOn();
    await endless;
    await closed;
  },
);
