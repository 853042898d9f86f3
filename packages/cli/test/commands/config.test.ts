// `config check`: what it shows, where it says a setting comes from, and what it says of a wrong one.

import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, run, runHere } from "../Binary.ts";
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
