// The judge of `npm run conformance`, and the proxy that it puts before an endpoint that asks for a token. The suite itself
// runs apart from these tests, because it is installed on its first use.

import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import * as HeaderProxy from "../../../tools/mcp/HeaderProxy.ts";
import * as Report from "../../../tools/mcp/Report.ts";

const passed = (key: string): Report.Check => ({ key, outcome: "passed", words: "" });
const failed = (key: string): Report.Check => ({ key, outcome: "failed", words: "not so" });
const expectations = { scenarios: ["tools-list"], excuses: [{ reason: "has none", checks: ["caching/b"] }] };

test("a run is good when exactly the excused checks fail and every named scenario was run", () => {
  expect(
    Report.judge("anybody", [passed("tools-list/a"), passed("caching/a"), failed("caching/b")], expectations),
  ).toEqual({ passed: 2, excused: 1, skipped: 0, faults: [] });
});

test("a failure without an excuse, an excuse without a failure and a missing scenario are faults", () => {
  const { faults } = Report.judge("anybody", [failed("caching/a"), passed("caching/b")], expectations);
  expect(faults).toEqual([
    "caching/a fails without an excuse: not so",
    "caching/b is excused and does not fail: take its excuse out",
    "tools-list was not run",
  ]);
});

test("an excuse of one subject is nobody else's", () => {
  const own = {
    scenarios: [],
    excuses: [{ reason: "cannot", only: "the runtime", checks: ["caching/b"] }],
  };
  expect(Report.judge("the runtime", [failed("caching/b")], own).faults).toEqual([]);
  expect(Report.judge("the owner", [failed("caching/b")], own).faults).toHaveLength(1);
  expect(Report.judge("the owner", [passed("caching/b")], own).faults).toEqual([]);
});

test("the proxy adds its header, and shows the endpoint its own Host and every other one", async () => {
  const seen: Array<unknown> = [];
  const server = createServer((incoming, outgoing) => {
    seen.push([incoming.headers.host, incoming.headers.authorization, incoming.url]);
    outgoing.end("hello");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const proxy = await HeaderProxy.start(target, ["authorization", "Bearer t"]);
  try {
    expect(await (await fetch(proxy.url)).text()).toBe("hello");
    expect(seen).toEqual([[target.host, "Bearer t", "/mcp"]]);
  } finally {
    await proxy.close();
    server.close();
  }
});
