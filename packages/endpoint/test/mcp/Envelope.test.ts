// What is said of a request before it is a call: its envelope, its revision, its headers.

import {
  Client,
  StreamableHTTPClientTransport,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as Envelope from "../../src/mcp/Envelope.ts";
import * as Failures from "../../src/mcp/Failures.ts";
import * as RawConnection from "./RawConnection.ts";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

let endpoint: TestEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint();
});
afterAll(() => endpoint.close());

const canary = "canary-7f3a";
const key = (name: string): string => `io.modelcontextprotocol/${name}`;

const post = (
  message: unknown,
  headers: Record<string, string> = RawHttp.headersOf("tools/call", "status"),
) => RawHttp.send(endpoint.port, { headers, body: JSON.stringify(message) });

const pathsOf = ({ body }: RawHttp.Answer): ReadonlyArray<unknown> => {
  expect([body.error?.code, Object.keys(body.error?.data ?? {})]).toEqual([-32_602, ["issues"]]);
  const { issues } = (body.error?.data ?? { issues: [] }) as {
    readonly issues: ReadonlyArray<{ readonly path: unknown }>;
  };
  return issues.map(({ path }) => path);
};

verifies("MGT-140", "every place of an envelope that is off is named, all of them at once", async () => {
  const paths = async (params: unknown) => {
    const answer = await post({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(answer.text).not.toContain(canary);
    return pathsOf(answer);
  };
  const version = ["_meta", key("protocolVersion")];
  const capabilities = ["_meta", key("clientCapabilities")];
  const good = RawHttp.meta;
  const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<unknown>]> = [
    [undefined, [[]]],
    [null, [[]]],
    [[canary], [[]]],
    [canary, [[]]],
    [{}, [["name"], ["_meta"]]],
    [{ name: 5, arguments: canary }, [["name"], ["arguments"], ["_meta"]]],
    [{ name: [canary], arguments: null, _meta: good }, [["name"], ["arguments"]]],
    [{ _meta: good }, [["name"]]],
    [{ name: "status", arguments: [canary], _meta: {} }, [["arguments"], version, capabilities]],
    [{ name: "status", _meta: null }, [["_meta"]]],
    [{ name: "status", _meta: canary }, [["_meta"]]],
    [{ name: "status", _meta: { [canary]: 1 } }, [version, capabilities]],
    [{ name: "status", _meta: { ...good, [key("protocolVersion")]: { canary } } }, [version]],
    [{ name: "status", _meta: { ...good, [key("protocolVersion")]: null } }, [version]],
    [{ name: "status", _meta: { ...good, [key("clientCapabilities")]: [canary] } }, [capabilities]],
    [
      { name: "status", _meta: { ...good, [key("clientInfo")]: { name: canary } } },
      [["_meta", key("clientInfo")]],
    ],
    [{ name: "status", _meta: { ...good, [key("logLevel")]: canary } }, [["_meta", key("logLevel")]]],
    [{ name: "status", _meta: { ...good, progressToken: [canary] } }, [["_meta", "progressToken"]]],
    // The schema of the protocol knows more than we name: then its place is the envelope.
    [
      { name: "status", _meta: { ...good, [key("clientInfo")]: { name: "n", version: "1", icons: canary } } },
      [["_meta"]],
    ],
  ];
  for (const [params, expected] of cases) expect([params, await paths(params)]).toEqual([params, expected]);
});

verifies(
  "MGT-143",
  "what is no request at all is the transport's own refusal, and repeats nothing",
  async () => {
    const call = RawHttp.message("tools/call", { name: "status" });
    const notRequests: ReadonlyArray<readonly [unknown, number]> = [
      [{ ...call, id: null }, 400],
      [{ ...call, id: 1.5 }, 400],
      [{ ...call, id: { canary } }, 400],
      [{ ...call, jsonrpc: canary }, 400],
      [{ ...call, method: 5 }, 400],
      [{ ...call, [canary]: canary }, 400],
      [[call, call], 400],
      [{ jsonrpc: "2.0", id: 1, result: { canary } }, 400],
      [canary, 400],
    ];
    for (const [message, status] of notRequests) {
      const answer = await post(message);
      expect([message, answer.status, answer.body.error?.code]).toEqual([message, status, -32_600]);
      expect(answer.text).not.toContain(canary);
    }
    // A notification has no answer; one that calls a tool calls nothing.
    const { id: _, ...notification } = call;
    expect([(await post(notification)).status, endpoint.sent]).toEqual([202, []]);

    const head = RawHttp.headersOf("tools/call", "status");
    const disagreeing = [
      { ...head, "mcp-name": canary },
      { ...head, "mcp-method": canary },
      { ...head, "mcp-protocol-version": canary },
      { ...head, "mcp-name": `=?base64?${canary}!?=` },
      { "mcp-protocol-version": RawHttp.revision, "mcp-method": "tools/call" },
      { "mcp-method": "tools/call", "mcp-name": "status" },
      { "mcp-protocol-version": RawHttp.revision, "mcp-name": "status" },
    ];
    for (const headers of disagreeing) {
      const answer = await post(call, headers);
      expect([headers, answer.status, answer.body.error?.code]).toEqual([headers, 400, -32_020]);
      expect(answer.body.error?.message).toMatch(/MCP-Protocol-Version, Mcp-Method .* Mcp-Name/);
      expect(answer.text).not.toContain(canary);
    }
    const named = { ...call, params: { ...call.params, name: canary } };
    expect((await post(named, head)).text).not.toContain(canary);
  },
);

const initialize = (protocolVersion: unknown) => ({
  jsonrpc: "2.0",
  id: "first",
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "old", version: "1" } },
});

/** Well-formed JSON-RPC that names the supported versions and says what to do next. */
const expectAdvice = (text: string, id: unknown): { readonly code: number; readonly data: unknown } => {
  const answer = JSON.parse(text) as {
    readonly jsonrpc: string;
    readonly id: unknown;
    readonly error: {
      readonly code: number;
      readonly message: string;
      readonly data: { readonly supported: unknown };
    };
  };
  expect([Object.keys(answer).toSorted(), answer.jsonrpc, answer.id]).toEqual([
    ["error", "id", "jsonrpc"],
    "2.0",
    id,
  ]);
  expect(answer.error.data.supported).toEqual([RawHttp.revision]);
  expect(answer.error.message).toMatch(/2026-07-28 only .* Begin with server\/discover/);
  return answer.error;
};

verifies("MGT-141", "C19: initialize of any version is told the supported one and what to do", async () => {
  const versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "banana"];
  for (const version of versions) {
    const { text, status } = await post(initialize(version), {});
    const { code, data } = expectAdvice(text, "first");
    expect([status, code, data]).toEqual([
      400,
      -32_022,
      { supported: [RawHttp.revision], requested: version },
    ]);
    // The header of a later request, which some clients send with the first one already.
    const early = await post(initialize(version), { "mcp-protocol-version": version });
    expect(expectAdvice(early.text, "first").code).toBe(-32_022);
  }
  for (const odd of [undefined, null, 5, { canary }, canary.repeat(10_000), `${canary} ${canary}`]) {
    const { text } = await post(initialize(odd), {});
    expect(expectAdvice(text, "first").code).toBe(-32_022);
    expect(text).not.toContain(canary);
  }
  for (const [length, shown] of [
    [32, "v".repeat(32)],
    [33, "unknown"],
  ] as const) {
    const { text } = await post(initialize("v".repeat(length)), {});
    expect(expectAdvice(text, "first").data).toMatchObject({ requested: shown });
  }
  // In an envelope of the current revision it is one more unknown method.
  const current = await post(RawHttp.message("initialize", {}, "first"), RawHttp.headersOf("initialize"));
  expect([current.status, expectAdvice(current.text, "first").code]).toEqual([404, -32_601]);
  // So is everything else that names an older revision, or none.
  for (const headers of [{}, { "mcp-protocol-version": "2025-11-25" }]) {
    for (const method of ["tools/list", "tools/call", "ping"]) {
      const { status, text } = await post(
        { jsonrpc: "2.0", id: 1, method, params: { name: "status" } },
        headers,
      );
      expect([status, expectAdvice(text, 1).code]).toEqual([400, -32_022]);
    }
  }
  const claimed = { ...RawHttp.meta, [key("protocolVersion")]: "2025-11-25" };
  const older = await post(
    { ...RawHttp.message("tools/call"), params: { name: "status", _meta: claimed } },
    { ...RawHttp.headersOf("tools/call", "status"), "mcp-protocol-version": "2025-11-25" },
  );
  expect([older.status, expectAdvice(older.text, 1).code]).toEqual([400, -32_022]);
});

verifies(
  "MGT-141",
  "C18: an older handshake after a good discover, on one connection, spoils nothing",
  async () => {
    const connection = await RawConnection.open(endpoint.port);
    const discover = () =>
      connection.post(
        RawHttp.headersOf("server/discover"),
        JSON.stringify(RawHttp.message("server/discover")),
      );
    for (let i = 0; i < 3; i++) {
      const { status, text } = await discover();
      expect([status, JSON.parse(text)]).toMatchObject([
        200,
        { result: { supportedVersions: ["2026-07-28"] } },
      ]);
      const handshake = await connection.post({}, JSON.stringify(initialize("2025-06-18")));
      expect([handshake.status, expectAdvice(handshake.text, "first").code]).toEqual([400, -32_022]);
      const late = { "mcp-protocol-version": RawHttp.revision };
      expectAdvice((await connection.post(late, JSON.stringify(initialize("2025-06-18")))).text, "first");
      const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
      expect((await connection.post({}, JSON.stringify(initialized))).status).toBe(202);
    }
    expect((await discover()).status).toBe(200);
    connection.close();
  },
);

verifies(
  "MGT-141",
  "C18: the official client finds the revision by itself, and one of an older era says why not",
  async () => {
    const connecting = async (client: Client): Promise<Client> => {
      await client.connect(new StreamableHTTPClientTransport(new URL(endpoint.url)));
      return client;
    };
    const info = { name: "test-host", version: "1.0.0" };
    const probing = await connecting(new Client(info, { versionNegotiation: { mode: "auto" } }));
    expect((await probing.callTool({ name: "status", arguments: {} })).structuredContent).toMatchObject({
      kind: "active",
    });
    await probing.close();
    const legacy = connecting(new Client(info, { versionNegotiation: { mode: "legacy" } }));
    await expect(legacy).rejects.toThrow(/2026-07-28/);
    const pinned = connecting(new Client(info, { versionNegotiation: { mode: { pin: "2027-01-01" } } }));
    await expect(pinned).rejects.toBeInstanceOf(UnsupportedProtocolVersionError);
  },
);

verifies("MGT-142", "whatever is thrown, its caller hears one word and the log has its id", async () => {
  const throwing = (name: string): Error =>
    Object.defineProperty(new Error(canary), name, {
      get: () => {
        throw new Error(`${canary}: ${name} was read`);
      },
    });
  const hostile = new Proxy(new Error(canary), {
    get: () => {
      throw new Error(canary);
    },
    getPrototypeOf: () => {
      throw new Error(canary);
    },
  });
  const thrown: ReadonlyArray<unknown> = [
    canary,
    5,
    undefined,
    null,
    Symbol(canary),
    { code: -32_602, message: canary, data: { canary } },
    Object.create(null),
    new Error(canary.repeat(1_000_000)),
    Object.assign(new Error(canary), { name: { canary }, message: { canary }, stack: 5 }),
    Object.assign(new Error(canary), { toString: () => Promise.reject(new Error(canary)) }),
    throwing("message"),
    throwing("stack"),
    throwing("name"),
    throwing("code"),
    throwing("toString"),
    throwing("cause"),
    hostile,
    new AggregateError([new Error(canary)], canary),
  ];
  for (const value of thrown) {
    const fail = (): never => {
      throw value;
    };
    const asked: ReadonlyArray<readonly [TestEndpoint, string]> = [
      [await startEndpoint({ overrides: { readInbox: fail } }), "read_inbox"],
      [await startEndpoint({ overrides: { isRegistered: fail } }), "status"],
    ];
    for (const [{ port, log, close }, tool] of asked) {
      const answer = await RawHttp.callTool(port, tool, {});
      expect([answer.status, answer.body.error?.code, answer.body.error?.data]).toEqual([
        200,
        -32_603,
        { reason: "internal" },
      ]);
      expect(answer.text).not.toContain(canary);
      const errors = log.filter(({ level }) => level === "error");
      expect(errors.map(({ fields }) => fields.correlationId)).toEqual([
        expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) as string,
      ]);
      for (const field of Object.values(errors[0]?.fields ?? {})) {
        expect(["string", "number"]).toContain(typeof field);
        expect(String(field).length).toBeLessThanOrEqual(65_536);
      }
      await close();
    }
  }
});

verifies(
  "MGT-142",
  "a catalog that cannot be listed and a result that cannot be written say no more",
  async () => {
    const fail = (): never => {
      throw new Error(canary);
    };
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const broken = await startEndpoint({ overrides: { isRegistered: fail } });
    const unwritable = await startEndpoint({
      overrides: { readInbox: () => cyclic as never, readEvent: () => ({ big: 1n }) as never },
    });
    const answers = [
      await RawHttp.rpc(broken.port, "tools/list"),
      await RawHttp.callTool(unwritable.port, "read_inbox", {}),
      await RawHttp.callTool(unwritable.port, "read_event", {
        eventId: `evt_${Buffer.alloc(32).toString("base64url")}`,
      }),
    ];
    for (const { status, text, body } of answers) {
      expect([status, body.error?.data]).toEqual([200, { reason: "internal" }]);
      expect(text).not.toContain(canary);
    }
    await broken.close();
    await unwritable.close();
  },
);

verifies(
  "MGT-142",
  "what breaks off outside of every handler is the same one word, under its request's id",
  async () => {
    const broken = Response.json(
      { jsonrpc: "2.0", id: null, error: { code: -32_603, message: canary } },
      { status: 500 },
    );
    const told = await Envelope.explain(
      RawHttp.message("tools/call", {}, "its id"),
      broken,
      Failures.internal,
    );
    expect([told.status, await told.json()]).toMatchObject([
      200,
      { jsonrpc: "2.0", id: "its id", error: { code: -32_603, data: { reason: "internal" } } },
    ]);
  },
);

verifies(
  "MGT-146",
  "a listener that does not say what it listens for is malformed, with its issue",
  async () => {
    for (const params of [{}, { notifications: canary }, { notifications: { toolsListChanged: canary } }]) {
      const answer = await RawHttp.rpc(endpoint.port, "subscriptions/listen", params);
      expect(pathsOf(answer)).toEqual([["notifications"]]);
      expect(answer.text).not.toContain(canary);
    }
  },
);
