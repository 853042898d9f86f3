// Where Node's switch may stand, and what is said of a proxy without it.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as ProxyEnvironment from "../src/ProxyEnvironment.ts";

const named = { HTTPS_PROXY: "http://user:word@proxy.example:3128" };

verifies("RUN-230", "C25: the variable and the flag of Node switch it on, and nothing else does", () => {
  const isOn = (environment: NodeJS.ProcessEnv, flags: ReadonlyArray<string> = []) =>
    ProxyEnvironment.read({ ...named, ...environment }, flags).proxyEnvironment !== undefined;
  expect([isOn({ NODE_USE_ENV_PROXY: "1" }), isOn({}, ["--use-env-proxy"])]).toEqual([true, true]);
  expect(isOn({ NODE_OPTIONS: "--max-old-space-size=256 --use-env-proxy" })).toBe(true);
  expect([isOn({}), isOn({ NODE_USE_ENV_PROXY: "0" }), isOn({ NODE_OPTIONS: "" })]).toEqual([
    false,
    false,
    false,
  ]);
});

verifies("RUN-233", "names the variable and never its value, and only where it was not used", () => {
  const hint = ProxyEnvironment.hint("unreachable", named, []);
  expect(hint).toContain("HTTPS_PROXY is set and was not used");
  expect(hint).not.toMatch(/user|word|example/);
  expect(ProxyEnvironment.hint("unreachable", { https_proxy: "http://p:1" }, [])).toContain("https_proxy");
  expect(ProxyEnvironment.hint("unreachable", {}, [])).toBe("");
  expect(ProxyEnvironment.hint("unreachable", { ...named, NODE_USE_ENV_PROXY: "1" }, [])).toBe("");
  expect(ProxyEnvironment.hint("untrusted-certificate", named, [])).toBe("");
});
