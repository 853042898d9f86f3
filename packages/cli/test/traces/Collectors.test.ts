// Collectors that mean harm or are broken: what they get, and what it costs.

import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import type { Span } from "@social-harness/router/Tracer";
import { verifies } from "@social-harness/testkit/Verifies";
import * as OtlpTraces from "../../src/traces/OtlpTraces.ts";

const listen = async (handle: RequestListener): Promise<string> => {
  const server = createServer(handle);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const tracesTo = async (url: string, exportMs?: number): Promise<OtlpTraces.Traces> => {
  const traces = await OtlpTraces.start({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=canary",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    },
    protocol: "http/json",
    serviceName: "x",
    ...(exportMs === undefined ? {} : { exportMs }),
  });
  if (traces === null) throw new Error("no traces");
  return traces;
};

const span = (startedAt: number, failed: string | null = null): Span => ({
  name: "one",
  startedAt,
  endedAt: startedAt,
  failed,
  attributes: {},
});

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
};

/** Writes for as long as somebody takes it. */
const writeForEver = (response: ServerResponse): void => {
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue;
  };
  response.on("drain", more);
  more();
};

for (const status of [200, 500]) {
  verifies("RUN-312", `an answer ${status} without end is not read`, async () => {
    const cut = Promise.withResolvers<void>();
    const url = await listen((request, response) => {
      request.resume();
      response.once("close", () => cut.resolve()).writeHead(status);
      writeForEver(response);
    });
    // No time limit but the test's own ends it.
    const traces = await tracesTo(url, 600_000);
    traces.tracer(span(1));
    await cut.promise;
    await traces.close();
  });
}

verifies("RUN-312", "a redirect is followed nowhere, and is not asked again", async () => {
  let followed = 0;
  let asked = 0;
  const elsewhere = await listen((request, response) => {
    followed += 1;
    request.resume();
    response.end("{}");
  });
  const answered = Promise.withResolvers<void>();
  const url = await listen((request, response) => {
    asked += 1;
    request.resume();
    response.once("close", () => answered.resolve());
    response.writeHead(307, { location: `${elsewhere}/v1/traces`, connection: "close" }).end();
  });
  const traces = await tracesTo(url);
  traces.tracer(span(1));
  await answered.promise;
  await traces.close();
  expect([asked, followed]).toEqual([1, 0]);
});

verifies("RUN-312", "an exchange that does not come to an answer is ended, and not begun again", async () => {
  let asked = 0;
  const cut = Promise.withResolvers<void>();
  const url = await listen((request, response) => {
    asked += 1;
    request.resume();
    response.once("close", () => cut.resolve());
  });
  const traces = await tracesTo(url, 50);
  traces.tracer(span(1));
  await cut.promise;
  await traces.close();
  expect(asked).toBe(1);
  expect(OtlpTraces.exportMsMax).toBe(5_000);
});

verifies("RUN-313", "of one second 500 spans are told, and of a failure its word alone", async () => {
  const bodies: Array<string> = [];
  const url = await listen(async (request, response) => {
    bodies.push(await bodyOf(request));
    response.end("{}");
  });
  const traces = await tracesTo(url);
  for (let i = 0; i < 700; i++) traces.tracer(span(1_000, "because"));
  for (let i = 0; i < 3; i++) traces.tracer(span(2_000));
  await traces.close();
  const told = bodies.join("");
  expect(told.split('"name":"one"').length - 1).toBe(503);
  expect(told).toContain("because");
  expect(told).not.toMatch(/OtlpTraces|node_modules|\.ts\b|file:/);
});
