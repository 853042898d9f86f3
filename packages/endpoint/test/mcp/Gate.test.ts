import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as RequestBody from "../../src/mcp/RequestBody.ts";
import { ownerToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";
import * as RawHttp from "./RawHttp.ts";

let endpoint: TestEndpoint;
let offered = ownerToken;
beforeAll(async () => {
  endpoint = await startEndpoint({ tokens: () => ({ owner: offered, runtime: null, metrics: null }) });
});
afterAll(() => endpoint.close());

const discover = JSON.stringify(RawHttp.message("server/discover"));
const statusWith = async (post: RawHttp.Post): Promise<number> => {
  const headers = { ...RawHttp.headersOf("server/discover"), ...post.headers };
  return (await RawHttp.send(endpoint.port, { body: discover, ...post, headers })).status;
};
const rawStatus = async (head: ReadonlyArray<string>): Promise<string> => {
  const headers = Object.entries(RawHttp.headersOf("server/discover")).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const lines = [
    ...head,
    ...headers,
    "content-type: application/json",
    `content-length: ${discover.length}`,
    "connection: close",
  ];
  const answer = await RawHttp.raw(endpoint.port, `${lines.join("\r\n")}\r\n\r\n${discover}`);
  return answer.slice(9, 12);
};

verifies("MGT-02", "C24: only this endpoint's own Host gets through", async () => {
  const { port } = endpoint;
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`]) {
    expect([host, await statusWith({ headers: { host } })]).toEqual([host, 200]);
  }
  const foreign = [
    `evil.com:${port}`,
    "evil.com",
    "127.0.0.1",
    "localhost",
    `127.0.0.1:${port + 1}`,
    `localhost.:${port}`,
    `127.0.0.1.:${port}`,
    `127.0.0.1.evil.com:${port}`,
    `evil.com#127.0.0.1:${port}`,
    `user@127.0.0.1:${port}`,
    `[::1]:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `0.0.0.0:${port}`,
    `2130706433:${port}`,
    `0x7f.1:${port}`,
    `127.1:${port}`,
    `127.0.0.2:${port}`,
  ];
  for (const host of foreign) expect([host, await statusWith({ headers: { host } })]).toEqual([host, 403]);
});

verifies("MGT-02", "C24: a missing or repeated Host and an absolute-form target are refused", async () => {
  const { port } = endpoint;
  const own = `Host: 127.0.0.1:${port}`;
  expect(await rawStatus(["POST /mcp HTTP/1.1", own])).toBe("200");
  expect(await rawStatus(["POST /mcp HTTP/1.1"])).toBe("400");
  expect(await rawStatus(["POST /mcp HTTP/1.0"])).toBe("403");
  expect(await rawStatus(["POST /mcp HTTP/1.0", own])).toBe("200");
  expect(await rawStatus([`POST http://127.0.0.1:${port}/mcp HTTP/1.1`, own])).toBe("403");
  expect(await rawStatus(["POST /mcp HTTP/1.1", own, "Host: evil.com"])).toMatch(/^40[03]$/);
  expect(await rawStatus([`POST http://evil.com/mcp HTTP/1.1`, own])).toBe("403");
  expect(await rawStatus([`POST http://127.0.0.1:${port}/mcp HTTP/1.1`, "Host: evil.com"])).toBe("403");
});

verifies("MGT-02", "C24: a foreign Origin is refused, also another server's on this machine", async () => {
  const { port } = endpoint;
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    expect([origin, await statusWith({ headers: { origin } })]).toEqual([origin, 200]);
  }
  const foreign = [
    "null",
    "",
    "http://evil.com",
    `http://127.0.0.1.evil.com:${port}`,
    "http://127.0.0.1",
    "http://localhost:3000",
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1:${port}/`,
    `http://[::1]:${port}`,
    "file://",
    "chrome-extension://abcdef",
  ];
  for (const origin of foreign) {
    expect([origin, await statusWith({ headers: { origin } })]).toEqual([origin, 403]);
  }
  for (const site of ["cross-site", "same-site"]) {
    expect(await statusWith({ headers: { "sec-fetch-site": site } })).toBe(403);
  }
  expect(await statusWith({ headers: { "sec-fetch-site": "same-origin" } })).toBe(200);
});

verifies("MGT-01", "one path and one method are served", async () => {
  for (const path of ["/", "/mcp/", "/MCP", "/mcp?token=x", "/console", "/mcp/../mcp"]) {
    expect([path, await statusWith({ path })]).toEqual([path, 404]);
  }
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"]) {
    const answer = await RawHttp.send(endpoint.port, { method });
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, "POST"]);
  }
});

verifies("MGT-01", "nothing but the IPv4 loopback address is listened on", async () => {
  expect(endpoint.url).toBe(`http://127.0.0.1:${endpoint.port}/mcp`);
  await expect(fetch(`http://[::1]:${endpoint.port}/mcp`)).rejects.toThrow();
});

verifies(
  "MGT-07",
  "a wrong token is 401 on every request, and the right one takes nothing away",
  async () => {
    const wrong = [
      "Bearer wrong",
      `Bearer ${ownerToken}x`,
      `Bearer ${ownerToken.slice(0, -1)}`,
      `Bearer ${ownerToken} ${ownerToken}`,
      `Basic ${ownerToken}`,
      ownerToken,
      "Bearer",
      "Bearer ",
      "",
    ];
    for (const authorization of wrong) {
      for (const method of ["server/discover", "tools/list", "nonsense"]) {
        const answer = await RawHttp.send(endpoint.port, {
          headers: { ...RawHttp.headersOf(method), authorization },
          body: JSON.stringify(RawHttp.message(method)),
        });
        expect([authorization, answer.status, answer.headers["www-authenticate"]]).toEqual([
          authorization,
          401,
          "Bearer",
        ]);
      }
    }
    const twice = { authorization: [`Bearer ${ownerToken}`, `Bearer ${ownerToken}`] };
    expect(await statusWith({ headers: twice })).toBe(401);
    const toolsWith = async (headers: Record<string, string>) => {
      const answer = await RawHttp.send(endpoint.port, {
        headers: { ...RawHttp.headersOf("tools/list"), ...headers },
        body: JSON.stringify(RawHttp.message("tools/list")),
      });
      return answer.body.result?.tools as ReadonlyArray<unknown>;
    };
    const withToken = await toolsWith({ authorization: `bearer ${ownerToken}` });
    expect(withToken.slice(0, 8)).toEqual(await toolsWith({}));
    expect(withToken).toHaveLength(14);
  },
);

verifies("MGT-07", "a rotated token counts at once, and one that cannot be read lets nobody in", async () => {
  const withOwner = { headers: { authorization: `Bearer ${ownerToken}` } };
  offered = "another-token-another-token-another-token";
  expect(await statusWith(withOwner)).toBe(401);
  offered = ownerToken;
  expect(await statusWith(withOwner)).toBe(200);

  const broken = await startEndpoint({ tokens: () => ({ owner: null, runtime: null, metrics: null }) });
  const head = RawHttp.headersOf("server/discover");
  const post = (headers: Record<string, string>) =>
    RawHttp.send(broken.port, { headers: { ...head, ...headers }, body: discover });
  expect((await post(withOwner.headers)).status).toBe(401);
  expect((await post({})).status).toBe(200);
  await broken.close();
});

verifies("MGT-10", "a body is one bounded, well-formed JSON text of the right type", async () => {
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    RawHttp.send(endpoint.port, { body, headers: { ...RawHttp.headersOf("server/discover"), ...headers } });
  const padded = (bytes: number): string => discover + " ".repeat(bytes - discover.length);
  expect((await post(padded(4_194_304))).status).toBe(200);
  expect((await post(padded(4_194_305))).status).toBe(413);
  expect((await post(padded(5_000_000), { "transfer-encoding": "chunked" })).status).toBe(413);
  for (const body of ["", "{", "[]", "null", "5", '"x"', Buffer.from([0x22, 0xff, 0x22]), `${discover}{}`]) {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect([-32_700, -32_600]).toContain(answer.body.error?.code);
  }
  expect((await post(discover, { "content-type": "text/plain" })).status).toBe(415);
});

verifies("MGT-06", "C18 and C19: an older client learns the supported version from the error", async () => {
  const versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "banana"];
  for (const protocolVersion of versions) {
    const answer = await RawHttp.send(endpoint.port, {
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 7,
        method: "initialize",
        params: { protocolVersion, capabilities: {}, clientInfo: { name: "old", version: "1" } },
      }),
    });
    expect([answer.status, answer.body.error?.code]).toEqual([400, -32_022]);
    expect(answer.body.error?.data).toEqual({ supported: ["2026-07-28"], requested: protocolVersion });
  }
  // The order of a client that probes first and falls back: both answers stand, on one connection after another.
  expect(await statusWith({})).toBe(200);
});

verifies("MGT-06", "an unknown method is unknown, a batch is none, and a notification is taken", async () => {
  const unknown = await RawHttp.rpc(endpoint.port, "tools/nonsense");
  expect([unknown.status, unknown.body.error?.code]).toEqual([404, -32_601]);
  const batch = await RawHttp.send(endpoint.port, {
    body: `[${discover}]`,
    headers: RawHttp.headersOf("server/discover"),
  });
  expect([batch.status, batch.body.error?.code]).toEqual([400, -32_600]);
  const { id: _, ...notification } = RawHttp.message("notifications/anything");
  const taken = await RawHttp.send(endpoint.port, {
    body: JSON.stringify(notification),
    headers: RawHttp.headersOf("notifications/anything"),
  });
  expect(taken.status).toBe(202);
});

verifies("MGT-15", "an unfinished head and an unfinished body both end their connections", async () => {
  const hasty = await startEndpoint({ requestMsMax: 200 });
  try {
    const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${hasty.port}\r\n`;
    const halves = [head, `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`];
    // Resolves when the server has ended the connection.
    for (const half of halves) expect(await RawHttp.raw(hasty.port, half)).not.toContain("200 OK");
    const answer = await RawHttp.callTool(hasty.port, "status", {});
    expect(answer.status).toBe(200);
  } finally {
    await hasty.close();
  }
});

verifies("MGT-186", "whatever a request expects, it meets the gate first", async () => {
  const closed = await startEndpoint({ mode: "credentials" });
  const ask = (expected: string, headers: ReadonlyArray<string>, host = `127.0.0.1:${closed.port}`) =>
    RawHttp.raw(
      closed.port,
      ["POST /mcp HTTP/1.1", `host: ${host}`, "content-length: 0", `expect: ${expected}`, ...headers].join(
        "\r\n",
      ) + "\r\n\r\n",
    );
  const owner = [`authorization: Bearer ${ownerToken}`];
  for (const expected of ["x", "200-ok", "100-continued"]) {
    expect(await ask(expected, [])).toMatch(/^HTTP\/1\.1 401 /);
    expect(await ask(expected, ["authorization: Bearer wrong"])).toMatch(/^HTTP\/1\.1 401 /);
    expect(await ask(expected, owner, "evil")).toMatch(/^HTTP\/1\.1 403 /);
    const answer = await ask(expected, owner);
    expect(answer).toMatch(/^HTTP\/1\.1 417 [^]*only 100-continue is known/);
    expect(answer).not.toContain(expected === "x" ? '"x"' : expected);
  }
  await closed.close();
});

verifies("MGT-195", "a client that is still writing a body that is too large hears that it is", async () => {
  const bytes = 30_000_000;
  const socket = connect(endpoint.port, "127.0.0.1");
  await once(socket, "connect");
  socket.pause();
  const headers = Object.entries({
    ...RawHttp.headersOf("server/discover"),
    "content-length": String(bytes),
  });
  socket.write(`POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${endpoint.port}\r\n`);
  socket.write(`${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  // It reads nothing before it has written everything: an answer that comes with a reset is lost.
  for (let written = 0; written < bytes; written += 1_000_000) {
    await new Promise<void>((resolve, reject) => {
      socket.write(Buffer.alloc(1_000_000, " "), (error) => (error ? reject(error) : resolve()));
    });
  }
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString("latin1");
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
});

verifies("MGT-195", "of a body that is too large at most 32 MiB are read and dropped", async () => {
  let read = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) {
        read += 1_048_576;
        yield Buffer.alloc(1_048_576);
      }
    })(),
  );
  expect(await RequestBody.read(endless as IncomingMessage)).toMatchObject({ ok: false, status: 413 });
  expect(read).toBeGreaterThan(33_554_432);
  expect(read).toBeLessThan(60_000_000);
});
