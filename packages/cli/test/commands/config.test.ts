// `config check`: what it shows, where it says a setting comes from, and what it says of a wrong one.

import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, run, runHere, serve } from "../Binary.ts";
import { invite, joined, json, root } from "../Town.ts";

const ada = join(root, "ada");
const file = join(ada, "config.json");
const firewall = join(ada, "firewall.json");
let original: string;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  original = readFileSync(file, "utf8");
});

const settingsOf = (result: Record<string, unknown>) =>
  new Map(
    (result["settings"] as ReadonlyArray<{ field: string; value?: unknown; from: string }>).map(
      ({ field, value, from }) => [field, [value, from]],
    ),
  );

verifies("RUN-140", "shows each setting, where it comes from, and no credential", async () => {
  const before = readdirSync(ada);
  const values = JSON.parse(original) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...values, contacts: "nobody", logLevel: "warn" }));
  const result = lastJson(
    await run(["config", "check", "--state", ada, "--port", "0", "--json"], {
      env: { SOCIAL_HARNESS_LOG_LEVEL: "debug" },
    }),
  );
  const settings = settingsOf(result);
  expect(result).toMatchObject({ valid: true, path: ada, firewallRules: null });
  expect(settings.get("port")).toEqual([0, "--port"]);
  expect(settings.get("logLevel")).toEqual(["debug", "SOCIAL_HARNESS_LOG_LEVEL"]);
  expect(settings.get("contacts")).toEqual([[], "config.json: contacts"]);
  expect(settings.get("mode")).toEqual(["trusted-local", "default"]);
  const credential = `adm_${"A".repeat(43)}`;
  const text = await runHere(["config", "check", "--state", ada, "--admission", credential]);
  expect([text.code, text.stdout]).toEqual([0, expect.stringContaining("nobody  (config.json: contacts)")]);
  expect(text.stdout).toContain("(set)  (--admission)");
  expect(text.stdout + text.stderr + invite).not.toContain(credential);
  expect(readdirSync(ada)).toEqual(before);
  writeFileSync(file, original);
});

verifies("RUN-141", "names the place of every error, in the firewall's file and in tokens too", async () => {
  const values = JSON.parse(original) as Record<string, unknown>;
  const canary = "canary-of-a-value";
  writeFileSync(file, JSON.stringify({ ...values, mode: canary, port: 70_000, colour: canary }));
  const wrong = await runHere(["config", "check", "--state", ada, "--json"]);
  expect([wrong.code, failureOf(wrong).reason]).toEqual([1, "configuration-invalid"]);
  for (const field of ["mode", "port", "colour"])
    expect(failureOf(wrong).message).toContain(`config.json: ${field}: `);
  expect(wrong.stderr).not.toContain(canary);
  writeFileSync(file, original);

  writeFileSync(firewall, JSON.stringify({ rules: [{ when: { text: "(" }, verdict: "hold" }] }), {
    mode: 0o600,
  });
  const rules = await runHere(["config", "check", "--state", ada, "--json"]);
  expect([rules.code, failureOf(rules).reason]).toEqual([1, "firewall-invalid"]);
  expect(failureOf(rules).message).toContain("rule 1, when.text");
  writeFileSync(firewall, JSON.stringify({ rules: [{ when: { text: "a" }, verdict: "hold" }] }));
  expect(await json("config", "check", "--state", ada)).toMatchObject({ firewallRules: 1 });

  writeFileSync(join(ada, "owner-token"), "short", { mode: 0o600 });
  const token = await runHere(["config", "check", "--state", ada, "--json"]);
  expect([token.code, failureOf(token).reason]).toEqual([1, "state-malformed"]);
  chmodSync(file, 0o644);
  const loose = await runHere(["config", "check", "--state", ada, "--json"]);
  expect([loose.code, failureOf(loose).reason]).toEqual([1, "state-permissions"]);
});

verifies(
  "RUN-275",
  "everything that is wrong is said at once, and a folder that is not there as that",
  async () => {
    const state = join(root, "wrong");
    await joined(state, "wrong-agent");
    const settings = JSON.parse(readFileSync(join(state, "config.json"), "utf8")) as object;
    writeFileSync(join(state, "config.json"), JSON.stringify({ ...settings, port: -1, colour: "red" }));
    writeFileSync(join(state, "firewall.json"), "{", { mode: 0o600 });
    writeFileSync(join(state, "owner-token"), "short", { mode: 0o600 });
    writeFileSync(join(state, "test-callbacks.json"), "{}", { mode: 0o600 });
    chmodSync(state, 0o755);
    const all = await runHere(["config", "check", "--state", state, "--json"]);
    const { message } = failureOf(all);
    expect(all.code).toBe(1);
    for (const what of [
      "has mode 0755",
      "config.json: port",
      "config.json: colour",
      "owner-token must hold",
      "test-callbacks.json lets callbacks reach",
      "firewall.json: ",
    ])
      expect(message).toContain(what);
    const none = join(root, "nope");
    const absent = failureOf(await runHere(["config", "check", "--state", none, "--json"]));
    expect([absent.reason, absent.message]).toEqual(["no-folder", `there is no folder ${none}`]);
  },
);

verifies(
  "RUN-275",
  "test callbacks are wrong without the flag that a daemon would need, and good with it",
  async () => {
    const state = join(root, "tests");
    await joined(state, "tests-agent");
    const callbacks = { addresses: ["127.0.0.1"], certificateAuthority: "-----BEGIN CERTIFICATE-----\n" };
    writeFileSync(join(state, "test-callbacks.json"), JSON.stringify(callbacks), { mode: 0o600 });
    const refused = await runHere(["config", "check", "--state", state, "--json"]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "state-not-allowed"]);
    expect(await json("config", "check", "--state", state, "--allow-test-callbacks")).toMatchObject({
      valid: true,
    });
  },
);

verifies(
  "RUN-273",
  "a daemon that was started otherwise is told with what differs, and its tokens count",
  async () => {
    const state = join(root, "running");
    await joined(state, "running-agent");
    expect(await json("config", "check", "--state", state)).toMatchObject({ running: null });
    const otherwise = ["--mode", "credentials", "--contacts", "known"];
    const daemon = await serve(["daemon", "--state", state, "--json", ...otherwise, "--port", "0"]);
    const { pid } = daemon;
    const result = await json("config", "check", "--state", state);
    expect(result["running"]).toEqual({ pid, mode: "credentials", differing: ["mode", "port", "contacts"] });
    const text = await runHere(["config", "check", "--state", state]);
    expect(text.stdout).toContain(
      `daemon       pid ${pid}: the daemon that runs was started with another mode`,
    );
    const same = [...otherwise, "--port", "0"];
    expect((await runHere(["config", "check", "--state", state, ...same])).stdout).toContain(
      `pid ${pid} goes by these settings`,
    );
    writeFileSync(join(state, "runtime-token"), "bad");
    const bad = await runHere(["config", "check", "--state", state, "--json"]);
    expect([bad.code, failureOf(bad).message]).toEqual([
      1,
      expect.stringContaining("runtime-token must hold"),
    ]);
    expect(await daemon.stop()).toBe(0);
  },
);

verifies("RUN-278", "whether traces are on is shown, and of their address the host alone", async () => {
  const state = join(root, "traced");
  await joined(state, "traced-agent");
  const off = await run(["config", "check", "--state", state, "--json"]);
  expect(lastJson(off)["traces"]).toBeNull();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:secret@collector.example:4318/path?key=secret" };
  const on = await run(["config", "check", "--state", state], { env });
  expect(on.stdout).toContain("traces       to collector.example:4318  (OTEL_EXPORTER_OTLP_ENDPOINT)");
  expect(on.stdout + on.stderr).not.toContain("secret");
});
