// The proxy of a company has no business with what stays on this machine.

import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as DirectLoopback from "../src/DirectLoopback.ts";
import { lastJson, run, runHere, serve, temporaryFolder } from "./Binary.ts";

verifies("MGT-151", "C25: loopback is added to whatever exceptions there are", () => {
  const exempted = (environment: Record<string, string | undefined>) => {
    DirectLoopback.exempt(environment);
    return environment["no_proxy"];
  };
  expect(exempted({})).toBe("127.0.0.1,localhost");
  expect(exempted({ NO_PROXY: "example.com" })).toBe("example.com,127.0.0.1,localhost");
  expect(exempted({ NO_PROXY: "example.com", no_proxy: "" })).toBe("127.0.0.1,localhost");
});

verifies(
  ["MGT-151", "IDN-55"],
  "C25: with a proxy in the environment, with and without exceptions, nothing on loopback goes through it",
  async () => {
    // Counts who comes, and answers nobody: whatever took this way would fail.
    let visitors = 0;
    const proxy = createServer((socket) => {
      visitors += 1;
      socket.destroy();
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const counting = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const folder = temporaryFolder();
    const data = join(folder, "net");
    await serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"]);
    const created = await runHere(["network", "invite", "create", "--data", data, "--uses", "9", "--json"]);
    const invite = lastJson(created)["invite"] as string;
    const exceptions = [{}, { NO_PROXY: "example.com" }];
    for (const [index, url] of [counting, "http://127.0.0.1:9"].entries()) {
      const env = {
        HTTP_PROXY: url,
        HTTPS_PROXY: url,
        http_proxy: url,
        https_proxy: url,
        ALL_PROXY: url,
        // Without it Node takes no proxy from the environment at all.
        NODE_USE_ENV_PROXY: "1",
        ...exceptions[index],
      };
      const name = `ada-agent-${index}`;
      const state = join(folder, name);
      const joined = await run(["join", invite, "--name", name, "--state", state, "--json"], { env });
      expect([joined.code, joined.stderr]).toEqual([0, ""]);
      const daemon = await serve(["daemon", "--state", state, "--port", "0", "--json"], { env });
      // The daemon's own calls: to the Router for its standing, to the Registry for the search.
      const standing = await run(["status", "--state", state, "--json"], { env });
      expect(standing.code).toBe(0);
      const found = await run(["agents", "--state", state, "--json"], { env });
      expect([found.code, found.stdout.includes(name)]).toEqual([0, true]);
      expect(await daemon.stop()).toBe(0);
    }
    expect(visitors).toBe(0);
    proxy.close();
  },
);
