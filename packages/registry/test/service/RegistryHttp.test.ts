import { connect } from "node:net";
import { once } from "node:events";
import { expect } from "vitest";
import type { Log } from "@social-harness/log/Log";
import { LogError } from "@social-harness/log/LogError";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Limits from "@social-harness/registry/Limits";
import { startRegistry } from "@social-harness/registry/service/RegistryServer";
import { sourceOf } from "@social-harness/registry/service/RateLimits";
import * as Wire from "@social-harness/registry/Wire";
import { verifies } from "@social-harness/testkit/Verifies";
import {
  agentOf,
  bearer,
  registrySigner,
  seededRandom,
  send,
  sendJson,
  startNetwork,
  tickingClock,
  type RawAnswer,
} from "../TestNetwork.ts";

const expectError = ({ status, text, headers }: RawAnswer, code: Wire.ErrorCode): void => {
  expect([status, text]).toEqual([Wire.statusOf[code], `{"error":"${code}"}`]);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("cache-control")).toBe("no-store");
};

/** What a server says to raw bytes, until it closes the socket. */
const exchange = async (url: string, bytes: string, keepOpen = false): Promise<string> => {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  const chunks: Array<Buffer> = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.write(bytes);
  if (!keepOpen) socket.end();
  await once(socket, "close");
  return Buffer.concat(chunks).toString("latin1");
};

const lookup = CanonicalJson.encode({ agentName: "alice" });

verifies("IDN-60", "every answer names the Registry's key, whatever was asked and by whom", async () => {
  const { url } = await startNetwork();
  const { publicKey } = registrySigner;
  const answers = [
    await send(url, Wire.lookupPath, lookup),
    await send(url, Wire.listPath, "{}"),
    await send(url, Wire.registerPath, "{}"),
    await send(url, "/nothing", lookup),
    await send(url, "/healthz", null, { method: "GET" }),
    await send(url, "/readyz", null, { method: "GET" }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 404, 200, 200]);
  for (const { headers } of answers) expect(headers.get(Wire.registryKeyHeader)).toBe(publicKey);
  expect(await exchange(url, "nonsense\r\n\r\n")).toContain(
    `\r\n${Wire.registryKeyHeader}: ${publicKey}\r\n`,
  );
});

verifies("IDN-20", "every refusal is one closed error with its status and no other text", async () => {
  const { url } = await startNetwork();
  expectError(await send(url, "/v1/identities", lookup), "not_found");
  expectError(await send(url, "/v1/identities:lookup/", lookup), "not_found");
  expectError(await send(url, "/v1/identities:lookup?x=1", lookup), "not_found");
  expectError(await send(url, "/", null, { method: "GET" }), "not_found");
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
    const answer = await send(url, Wire.lookupPath, method === "GET" ? null : lookup, { method });
    expectError(answer, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("POST");
  }
  expectError(await send(url, "/healthz", lookup), "method_not_allowed");
  const types = [
    "text/plain",
    "application/jsonx",
    "application/json; charset=latin1",
    "multipart/form-data",
  ];
  for (const type of types) {
    const answer = await send(url, Wire.lookupPath, lookup, { headers: { "content-type": type } });
    expectError(answer, "unsupported_media_type");
  }
  const compressed = { headers: { "content-encoding": "gzip" } };
  expectError(await send(url, Wire.lookupPath, lookup, compressed), "unsupported_media_type");
  const charset = { headers: { "content-type": "application/json; charset=UTF-8" } };
  expect((await send(url, Wire.lookupPath, lookup, charset)).text).toBe('{"kind":"not_found"}');
});

verifies("IDN-20", "a body that is not the one canonical form of a known shape is malformed", async () => {
  const { url } = await startNetwork();
  const { registration } = agentOf("alice");
  const { agentId: id } = { agentId: `agt_${"A".repeat(22)}` };
  const bodies: ReadonlyArray<readonly [path: string, body: string | Uint8Array<ArrayBuffer>]> = [
    [Wire.lookupPath, ""],
    [Wire.lookupPath, "null"],
    [Wire.lookupPath, "[]"],
    [Wire.lookupPath, "{}"],
    [Wire.lookupPath, '{"agentName": "alice"}'],
    [Wire.lookupPath, '{"agentName":"alice"}\n'],
    [Wire.lookupPath, '\ufeff{"agentName":"alice"}'],
    [Wire.lookupPath, '{"agentName":"alice","agentName":"alice"}'],
    [Wire.lookupPath, '{"agentName":"\\u0061lice"}'],
    [Wire.lookupPath, '{"agentName":"alice","extra":1}'],
    [Wire.lookupPath, `{"agentId":"${id}","agentName":"alice"}`],
    [Wire.lookupPath, '{"agentName":{"a":{}}}'],
    [Wire.lookupPath, `{"agentId":"${id.slice(0, -1)}B"}`],
    [Wire.lookupPath, Uint8Array.of(0x7b, 0xff, 0x7d)],
    [Wire.listPath, '{"prefix":""}'],
    [Wire.listPath, '{"prefix":"A"}'],
    [Wire.listPath, `{"prefix":"${"a".repeat(33)}"}`],
    [Wire.listPath, '{"afterAgentName":"al"}'],
    [Wire.listPath, '{"prefix":null}'],
    [Wire.registerPath, "{}"],
    [Wire.registerPath, CanonicalJson.encode({ ...registration, extra: true })],
    [Wire.registerPath, CanonicalJson.encode({ ...registration, kind: "registrations" })],
    [Wire.registerPath, CanonicalJson.encode({ ...registration, signature: `${registration.signature}=` })],
    [Wire.registerPath, JSON.stringify(registration)],
  ];
  for (const [path, body] of bodies) expectError(await send(url, path, body), "malformed");
  expect((await sendJson(url, Wire.listPath, {})).text).toBe(
    '{"agentCards":[],"hasMore":false,"kind":"page"}',
  );
});

verifies("IDN-21", "a request without exactly the version of this protocol is 412", async () => {
  const { url } = await startNetwork();
  for (const version of ["2", "0", "1.0", "", "1, 1"]) {
    const answer = await send(url, Wire.lookupPath, lookup, {
      headers: { "social-harness-version": version },
    });
    expectError(answer, "version_mismatch");
  }
  const without = await fetch(`${url}${Wire.lookupPath}`, {
    method: "POST",
    body: lookup,
    headers: { "content-type": "application/json" },
  });
  expect([without.status, await without.text()]).toEqual([412, '{"error":"version_mismatch"}']);
});

verifies(
  "IDN-22",
  "a body is read up to its limit and refused one byte past it, declared or not",
  async () => {
    const { url } = await startNetwork();
    const padded = (length: number): string => lookup.slice(0, -1) + " ".repeat(length - lookup.length) + "}";
    expectError(await send(url, Wire.lookupPath, padded(Limits.requestBytesMax)), "malformed");
    expectError(await send(url, Wire.lookupPath, padded(Limits.requestBytesMax + 1)), "payload_too_large");
    expectError(await send(url, Wire.lookupPath, "x".repeat(5_000_000)), "payload_too_large");
    const head = `POST ${Wire.lookupPath} HTTP/1.1\r\nsocial-harness-version: 1\r\ncontent-type: application/json\r\n`;
    const chunk = `800\r\n${"x".repeat(0x800)}\r\n`;
    const streamed = await exchange(url, `${head}transfer-encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`);
    expect(streamed).toMatch(/^HTTP\/1.1 413 [^]*{"error":"payload_too_large"}$/);
    const declared = await exchange(url, `${head}content-length: 99999999\r\n\r\n{`);
    expect(declared).toMatch(/^HTTP\/1.1 413 [^]*{"error":"payload_too_large"}$/);
  },
);

verifies("IDN-22", "bytes that are no HTTP request get a closed error too", async () => {
  const { url } = await startNetwork();
  expect(await exchange(url, "\u0016\u0003\u0001 hello\r\n\r\n")).toMatch(
    /^HTTP\/1.1 400 [^]*{"error":"malformed"}$/,
  );
  const wide = `GET /healthz HTTP/1.1\r\nx: ${"y".repeat(Limits.headerBytesMax + 1)}\r\n\r\n`;
  expect(await exchange(url, wide)).toMatch(/^HTTP\/1.1 413 [^]*{"error":"payload_too_large"}$/);
  expect(await exchange(url, "GET /healthz HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1.1 200 /);
});

verifies(
  "IDN-27",
  "a peer that sends slowly, or nothing, loses its socket while others are served",
  async () => {
    const { url } = await startNetwork({ timeouts: { headersMs: 200, requestMs: 300, idleMs: 400 } });
    const head = `POST ${Wire.lookupPath} HTTP/1.1\r\nsocial-harness-version: 1\r\n`;
    const slow = Array.from({ length: 30 }, (_, i) =>
      exchange(
        url,
        i % 3 === 0
          ? ""
          : i % 3 === 1
            ? head
            : `${head}content-type: application/json\r\ncontent-length: 21\r\n\r\n{`,
        true,
      ),
    );
    expect((await send(url, Wire.lookupPath, lookup)).text).toBe('{"kind":"not_found"}');
    expect(await Promise.all(slow)).toEqual(slow.map(() => ""));
  },
);

verifies("IDN-27", "a peer that keeps sending, a byte at a time, loses its socket all the same", async () => {
  const { url } = await startNetwork({ timeouts: { headersMs: 200, requestMs: 300, idleMs: 60_000 } });
  const head = `POST ${Wire.lookupPath} HTTP/1.1\r\nsocial-harness-version: 1\r\n`;
  const trickles = [head, `${head}content-type: application/json\r\ncontent-length: 900\r\n\r\n{`];
  await Promise.all(
    trickles.map(async (start) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(start));
      const more = setInterval(() => socket.write("x"), 40);
      socket.on("error", () => {});
      await once(socket, "close");
      clearInterval(more);
    }),
  );
});

verifies(
  "RTR-54",
  "idle connections, used or not, make room for whoever asks, and a warning says so",
  async () => {
    const { url, lines } = await startNetwork({ restingMax: 4 });
    const ended = Array.from({ length: 12 }, (_, i) =>
      exchange(url, i % 2 === 0 ? "" : "GET /healthz HTTP/1.1\r\n\r\n", true),
    );
    await Promise.race(ended);
    expect((await send(url, Wire.lookupPath, lookup)).text).toBe('{"kind":"not_found"}');
    // No other limit ends a connection within that time.
    const first = await Promise.all(ended.slice(0, 8));
    expect(first.filter((text) => text.startsWith("HTTP/1.1 200 "))).toHaveLength(4);
    expect(lines.filter(({ level }) => level === "warn")).toEqual([
      { level: "warn", event: "registry_crowded", fields: { connections: 1 } },
    ]);
  },
);

verifies("IDN-27", "a Registry beyond loopback starts only with TLS or behind a public URL", async () => {
  const options = {
    log: openMemoryLog(),
    keys: { registry: registrySigner },
    admission: "open" as const,
    clock: tickingClock(),
    random: seededRandom("exposed"),
    logger: () => {},
  };
  const listen = { host: "0.0.0.0", port: 0 };
  await expect(startRegistry({ ...options, listen })).rejects.toThrow(RangeError);
  await expect(startRegistry({ ...options, listen, publicUrl: "http://example.org" })).rejects.toThrow(
    RangeError,
  );
  const running = await startRegistry({ ...options, listen, publicUrl: "https://example.org/registry/" });
  expect(running.url).toBe("https://example.org/registry");
  await running.close();
});

verifies(
  "IDN-28",
  "a source that asks too often is told when to come back, and another one is not",
  async () => {
    const { url } = await startNetwork({
      behindProxy: true,
      rates: { readsPerSource: 3, registrationsPerSource: 2, registrationsPerCredential: 100 },
    });
    const from = (source: string) => ({ "x-forwarded-for": `6.6.6.6, ${source}` });
    const look = (source: string) => sendJson(url, Wire.lookupPath, { agentName: "alice" }, from(source));
    for (let i = 0; i < 3; i++) expect((await look("192.0.2.1")).status).toBe(200);
    const refused = await look("192.0.2.1");
    expectError(refused, "overloaded");
    expect(Number(refused.headers.get("retry-after"))).toSatisfy(
      (seconds: number) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 60,
    );
    expect((await look("192.0.2.2")).status).toBe(200);
    const register = (name: string, source: string) =>
      sendJson(url, Wire.registerPath, agentOf(name).registration, from(source));
    expect((await register("alice", "192.0.2.1")).status).toBe(200);
    expect((await register("bob", "192.0.2.1")).status).toBe(200);
    expectError(await register("carol", "192.0.2.1"), "overloaded");
  },
);

verifies("IDN-28", "without a proxy the forwarded source is not believed", async () => {
  const { url } = await startNetwork({ rates: { readsPerSource: 3 } });
  const statuses: Array<number> = [];
  for (let i = 0; i < 4; i++) {
    const headers = { "x-forwarded-for": `192.0.2.${i}` };
    statuses.push((await sendJson(url, Wire.lookupPath, { agentName: "alice" }, headers)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
});

verifies("IDN-28", "a credential that is tried too often is told to wait, from wherever", async () => {
  const { url, invites } = await startNetwork({
    admission: "invite",
    behindProxy: true,
    rates: { registrationsPerCredential: 2 },
  });
  const [one, two] = [await invites.create(100), await invites.create(100)];
  const register = (i: number, credential: string) =>
    sendJson(url, Wire.registerPath, agentOf(`agent-${i}`).registration, {
      ...bearer(credential),
      "x-forwarded-for": `192.0.2.${i}`,
    });
  expect((await register(1, one.credential)).status).toBe(200);
  expect((await register(2, one.credential)).status).toBe(200);
  expectError(await register(3, one.credential), "overloaded");
  expect((await register(4, two.credential)).status).toBe(200);
});

verifies("IDN-28", "a source is an IPv4 address or an IPv6 /64", () => {
  expect(sourceOf("192.0.2.7")).toBe("192.0.2.7");
  expect(sourceOf("::ffff:192.0.2.7")).toBe("192.0.2.7");
  expect(sourceOf("2001:db8:1:2:aaaa::1")).toBe("2001:db8:1:2");
  expect(sourceOf("2001:0db8:0001:0002:bbbb:cccc:dddd:eeee")).toBe("2001:db8:1:2");
  expect(sourceOf("2001:db8::1")).toBe("2001:db8:0:0");
  expect(sourceOf("::1")).toBe("0:0:0:0");
  expect(sourceOf("fe80::1%eth0")).toBe("fe80:0:0:0");
});

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
  expectError(await get("/readyz"), "unavailable");
  expectError(await send(url, Wire.lookupPath, lookup), "unavailable");
  expectError(await sendJson(url, Wire.registerPath, agentOf("alice").registration), "unavailable");
  expect(lines.some(({ event, level }) => event === "log_unusable" && level === "error")).toBe(true);
  failing = false;
  expect((await get("/readyz")).text).toBe('{"status":"ok"}');
});

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

verifies("IDN-20", "what was not foreseen is internal, logged, and tells the peer nothing", async () => {
  const log = openMemoryLog();
  let broken = false;
  const odd: Log = {
    ...log,
    read: async (stream, from, limit) => {
      if (broken) throw new TypeError("secret detail");
      return log.read(stream, from, limit);
    },
  };
  const { url, lines } = await startNetwork({ log: odd });
  broken = true;
  expectError(await send(url, Wire.lookupPath, lookup), "internal");
  expect(lines.at(-1)).toMatchObject({ level: "error", fields: { message: "secret detail" } });
});
