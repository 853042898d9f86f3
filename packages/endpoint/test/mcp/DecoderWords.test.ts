// What the decoders of the SDK say of a request quotes it: none of that is answered, and none of it is logged.

import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

let endpoint: TestEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint();
});
afterAll(() => endpoint.close());

const canary = "canary-91d2";
const key = (name: string): string => `io.modelcontextprotocol/${name}`;

const post = (message: unknown, headers: Record<string, string>) =>
  RawHttp.send(endpoint.port, { headers, body: JSON.stringify(message) });

const pathsOf = ({ body }: RawHttp.Answer): ReadonlyArray<unknown> => {
  expect([body.error?.code, Object.keys(body.error?.data ?? {})]).toEqual([-32_602, ["issues"]]);
  const { issues } = (body.error?.data ?? { issues: [] }) as {
    readonly issues: ReadonlyArray<{ readonly path: unknown }>;
  };
  return issues.map(({ path }) => path);
};

verifies(
  ["MGT-60", "MGT-143"],
  "no method answers, or logs, a malformed envelope or parameter in the words of a decoder",
  async () => {
    const huge = `${canary}${"z".repeat(10_000)}`;
    const capabilities = { experimental: { [huge]: canary } };
    const envelopes: ReadonlyArray<object> = [
      { ...RawHttp.meta, [key("clientCapabilities")]: capabilities },
      { ...RawHttp.meta, [key("clientCapabilities")]: canary },
      { ...RawHttp.meta, [key("logLevel")]: canary },
      { ...RawHttp.meta, [key("clientInfo")]: { [canary]: canary } },
      { ...RawHttp.meta, progressToken: { [canary]: canary } },
    ];
    for (const method of ["tools/list", "server/discover", "events/list", "tools/call"]) {
      const headers = RawHttp.headersOf(method, method === "tools/call" ? "status" : undefined);
      for (const envelope of envelopes) {
        const answer = await post(
          { jsonrpc: "2.0", id: 1, method, params: { name: "status", _meta: envelope } },
          headers,
        );
        expect([method, answer.text.includes(canary), answer.text.length < 1_000]).toEqual([
          method,
          false,
          true,
        ]);
        expect(pathsOf(answer).every((path) => (path as ReadonlyArray<unknown>)[0] === "_meta")).toBe(true);
      }
    }
    const headers = RawHttp.headersOf("tools/list");
    for (const cursor of [5, null, { [canary]: canary }, [canary], true]) {
      const message = RawHttp.message("tools/list", { cursor });
      expect(pathsOf(await post(message, headers))).toEqual([["cursor"]]);
    }
    expect((await post(RawHttp.message("tools/list", { cursor: "any" }), headers)).body.result).toBeDefined();
    expect(JSON.stringify(endpoint.log)).not.toContain(canary);
  },
);
