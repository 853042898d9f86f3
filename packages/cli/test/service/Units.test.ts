// The unit files as text: what stands in them for paths that are hard to write, and what the manager's own checker says.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Launchd from "../../src/service/Launchd.ts";
import { isWritable, nameOf, type Service } from "../../src/service/Service.ts";
import * as Systemd from "../../src/service/Systemd.ts";

const folder = mkdtempSync(join(tmpdir(), "social-harness-units-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const state = join(folder, `it's 100% "odd" $HOME \\ & <café>`);
const service: Service = {
  name: nameOf(state),
  state,
  command: [
    process.execPath,
    "--max-semi-space-size=16",
    "/opt/social-harness.js",
    "daemon",
    "--state",
    state,
  ],
  environment: { NODE_EXTRA_CA_CERTS: "/etc/50% ca.pem" },
};
const has = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;

verifies("RUN-151", "a systemd unit writes every path so that systemd reads it as it is", ({ skip }) => {
  const manager = Systemd.create(join(folder, "config"));
  const text = manager.textOf(service);
  expect(text).toContain(`"--state" "${folder}/it's 100%% \\"odd\\" $$HOME \\\\ & <café>"\n`);
  expect(text).toContain('Environment="NODE_EXTRA_CA_CERTS=/etc/50%% ca.pem"\n');
  expect(text).not.toMatch(/token|whsec_|adm_/);
  expect(manager.commandIn(text)).toEqual(service.command);
  const path = manager.pathOf(service.name);
  expect(path).toBe(join(folder, "config", "systemd", "user", `${service.name}.service`));
  if (!has("systemd-analyze")) return skip("this machine has no systemd-analyze");
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  const checked = spawnSync("systemd-analyze", ["verify", "--user", "--man=no", path], {
    encoding: "utf8",
    env: { ...process.env, XDG_RUNTIME_DIR: folder },
  });
  // Whatever it says of this unit is a complaint; other units of the machine are not ours.
  expect(checked.stderr.split("\n").filter((line) => line.includes(service.name))).toEqual([]);
  writeFileSync(path, text.replace("Restart=on-failure", "Restart=sometimes"));
  const wrong = spawnSync("systemd-analyze", ["verify", "--user", "--man=no", path], {
    encoding: "utf8",
    env: { ...process.env, XDG_RUNTIME_DIR: folder },
  });
  expect(wrong.stderr).toContain("restart specifier");
});

verifies("RUN-151", "a launchd property list is XML that holds every word as it is", () => {
  const manager = Launchd.create("/srv/ada", 501);
  expect(manager.pathOf("x")).toBe("/srv/ada/Library/LaunchAgents/x.plist");
  const path = join(folder, "unit.plist");
  writeFileSync(path, manager.textOf(service));
  expect(manager.commandIn(manager.textOf(service))).toEqual(service.command);
  const script = "import plistlib, json, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
  const read = JSON.parse(execFileSync("python3", ["-c", script, path], { encoding: "utf8" })) as object;
  expect(read).toMatchObject({
    Label: service.name,
    ProgramArguments: service.command,
    EnvironmentVariables: service.environment,
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    Umask: 0o077,
    StandardOutPath: "/dev/null",
    StandardErrorPath: "/dev/null",
  });
});

verifies("RUN-151", "each folder has a service of its own name, and no unit holds a line end", () => {
  expect(nameOf("/srv/a/x")).toMatch(/^social-harness-x-[0-9a-f]{8}$/);
  expect(nameOf("/srv/a/x")).not.toBe(nameOf("/srv/b/x"));
  expect(isWritable(service)).toBe(true);
  expect(isWritable({ ...service, command: ["node", "a\nExecStartPre=/bin/evil"] })).toBe(false);
});
