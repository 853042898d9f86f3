// Traces as a collector gets them: from a daemon and a network that really talk, and from nobody who was not asked.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { lastJson, runHere, serve, type Served } from "../Binary.ts";
import { root } from "../Town.ts";
import * as Traces from "../../src/traces/Traces.ts";

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: object }>;
  readonly status: object;
}
interface Batch {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: {
      readonly attributes: ReadonlyArray<{ key: string; value: { stringValue?: string } }>;
    };
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<OtlpSpan> }>;
  }>;
}

const batches: Array<Batch> = [];
const heads: Array<IncomingMessage["headers"]> = [];
/** While it hangs it takes everything and answers nothing. */
let hangs = false;
let collector: Server;
let endpoint: string;

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const chunks: Array<Buffer> = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    heads.push({ ...request.headers, path: String(request.url) });
    if (request.headers["content-type"] === "application/json")
      batches.push(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Batch);
    if (!hangs) response.end("{}");
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
afterAll(() => {
  collector.close();
  collector.closeAllConnections();
});

const spansOf = (service: string): ReadonlyArray<OtlpSpan> =>
  batches.flatMap(({ resourceSpans }) =>
    resourceSpans
      .filter(({ resource }) =>
        resource.attributes.some(({ key, value }) => key === "service.name" && value.stringValue === service),
      )
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
const settings = (more: Readonly<Record<string, string>> = {}) => ({
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    ...more,
  },
});

verifies(
  "RUN-154",
  "a post, the call that made it, its way through the network: all are told, and no content",
  async () => {
    const data = join(root, "traced");
    const network = await serve(
      ["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"],
      settings(),
    );
    const { invite } = lastJson(
      await runHere(["network", "invite", "create", "--data", data, "--uses", "2", "--json"]),
    );
    const daemons: Array<Served> = [];
    for (const name of ["ada", "bob"]) {
      const state = join(root, `traced-${name}`);
      await runHere(["join", invite as string, "--name", `${name}-agent`, "--state", state]);
      daemons.push(await serve(["daemon", "--state", state, "--port", "0", "--json"], settings()));
    }
    const words = [
      "send",
      "agent:bob-agent",
      "a canary of content",
      "--state",
      join(root, "traced-ada"),
      "--json",
    ];
    const { postId, status } = lastJson(await runHere(words));
    expect(status).toBe("certified");
    for (const served of [...daemons, network]) expect(await served.stop()).toBe(0);

    const told = spansOf("social-harness-daemon");
    const about = told.filter(({ attributes }) => JSON.stringify(attributes).includes(postId as string));
    expect(about.map(({ name }) => name).toSorted()).toEqual(["post", "tools/call send_message"]);
    expect(new Set(about.map(({ traceId }) => traceId)).size).toBe(1);
    for (const { startTimeUnixNano, endTimeUnixNano } of told)
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);
    const names = new Set(spansOf("social-harness-network").map(({ name }) => name));
    expect(names).toContain("router send");
    expect(names).toContain("/v1/identities:register");
    expect(JSON.stringify(batches)).not.toContain("canary");
  },
  60_000,
);

verifies("RUN-155", "nothing is loaded where no endpoint is named, or traces are switched off", async () => {
  vi.doMock("../../src/traces/OtlpTraces.ts", () => {
    throw new Error("loaded");
  });
  const notices: Array<string> = [];
  const notice = (line: string): void => void notices.push(line);
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1";
  for (const environment of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: "true" },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: "none" },
  ])
    expect(await Traces.open(environment, "x", notice)).toBeNull();
  expect(notices).toEqual([]);
  vi.doUnmock("../../src/traces/OtlpTraces.ts");
});

verifies(
  "RUN-155",
  "a variable that cannot be used is told without its value, and stops nothing",
  async () => {
    const notices: Array<string> = [];
    const notice = (line: string): void => void notices.push(line);
    for (const environment of [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "canary is no address" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_PROTOCOL: "canary" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_BSP_SCHEDULE_DELAY: "canary" },
    ])
      expect(await Traces.open(environment, "x", notice)).toBeNull();
    expect(notices).toHaveLength(3);
    for (const line of notices) expect(line).toMatch(/^traces are off: (?!.*canary)/);
  },
);

verifies("RUN-155", "both encodings go to the standard's path with the given headers", async () => {
  for (const [protocol, type] of [
    [undefined, "application/x-protobuf"],
    ["http/protobuf", "application/x-protobuf"],
    ["http/json", "application/json"],
  ] as const) {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=value",
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    };
    const traces = await Traces.open(environment, "x", () => undefined);
    traces?.tracer({ name: "one", startedAt: 1, endedAt: 2, failed: "because", attributes: { n: 1 } });
    await traces?.close();
    if (protocol === "http/json")
      expect(spansOf("x").at(-1)?.status).toEqual({ code: 2, message: "because" });
    expect(heads.at(-1)).toMatchObject({ path: "/v1/traces", "content-type": type, "x-key": "value" });
  }
});

verifies("RUN-155", "a collector that hangs holds up no stop", async () => {
  hangs = true;
  const traces = await Traces.open({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, "x", () => undefined);
  for (let i = 0; i < 5_000; i++)
    traces?.tracer({ name: "one", startedAt: i, endedAt: i + 1, failed: null, attributes: {} });
  const started = performance.now();
  await traces?.close();
  expect(performance.now() - started).toBeLessThan(2_500);
  hangs = false;
});

verifies(
  "RUN-278",
  "a collector that takes nothing is told once, and once when it takes traces again",
  async () => {
    let status = 503;
    const moody = createServer((request, response) =>
      request.resume().on("end", () => response.writeHead(status).end("{}")),
    );
    await new Promise<void>((resolve) => moody.listen(0, "127.0.0.1", resolve));
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(moody.address() as AddressInfo).port}/secret`,
      OTEL_BSP_SCHEDULE_DELAY: "20",
    };
    const notices: Array<string> = [];
    const traces = await Traces.open(environment, "x", (line) => {
      notices.push(line);
      status = 200;
    });
    traces?.tracer({ name: "one", startedAt: 1, endedAt: 2, failed: null, attributes: {} });
    await expect.poll(() => notices, { timeout: 30_000 }).toHaveLength(2);
    expect(notices).toEqual([
      expect.stringMatching(/^the collector .* takes no traces: it answers HTTP 503; they are dropped/),
      "the collector takes traces again",
    ]);
    await traces?.close();
    moody.close();
    expect(notices.join()).not.toContain("secret");
  },
);

verifies("RUN-278", "so is one that is not there", async () => {
  const notices: Array<string> = [];
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_BSP_SCHEDULE_DELAY: "20" };
  const traces = await Traces.open(environment, "x", (line) => void notices.push(line));
  traces?.tracer({ name: "one", startedAt: 1, endedAt: 2, failed: null, attributes: {} });
  await expect.poll(() => notices, { timeout: 30_000 }).toHaveLength(1);
  expect(notices[0]).toContain("it cannot be reached, or does not answer");
  await traces?.close();
});
