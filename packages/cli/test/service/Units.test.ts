// The unit files as text: what stands in them for paths that are hard to write, and what the manager's own checker says.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as FirstLine from "../../src/service/FirstLine.ts";
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
const systemd = Systemd.create(join(folder, "config"));
/** What systemd's own checker complains of in a unit. Other units of the machine are not ours. */
const complaintsOf = (path: string): ReadonlyArray<string> =>
  spawnSync("systemd-analyze", ["verify", "--user", "--man=no", path], {
    encoding: "utf8",
    env: { ...process.env, XDG_RUNTIME_DIR: folder },
  })
    .stderr.split("\n")
    .filter((line) => line.includes(service.name))
    // Those two came with systemd 254; one before it goes without.
    .filter((line) => !/'Restart(Steps|MaxDelaySec)'.*ignoring/.test(line));
const has = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;

verifies("RUN-151", "a systemd unit writes every path so that systemd reads it as it is", ({ skip }) => {
  const manager = systemd;
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
  expect(complaintsOf(path)).toEqual([]);
  writeFileSync(path, text.replace("Restart=on-failure", "Restart=sometimes"));
  expect(complaintsOf(path).join("\n")).toContain("restart specifier");
});

verifies("RUN-280", "no unit gives up while what is in the way may pass by itself", () => {
  const text = systemd.textOf(service);
  const settings = new Map(text.split("\n").map((line) => [line.split("=", 1)[0], line.split("=")[1]]));
  expect(settings.get("Restart")).toBe("on-failure");
  // Without a limit to the number of starts, however short the time between them is.
  expect(settings.get("StartLimitIntervalSec")).toBe("0");
  expect(Number(settings.get("RestartSec"))).toBeGreaterThanOrEqual(5);
  expect(Number(settings.get("RestartMaxDelaySec"))).toBeLessThanOrEqual(60);
  expect(settings.get("RestartPreventExitStatus")).toBe("2 9");
  const list = Launchd.create("/srv/ada", 501).textOf(service);
  expect(list).toContain("<key>SuccessfulExit</key><false/>");
  expect(Number(/<key>ThrottleInterval<\/key><integer>(\d+)</.exec(list)?.[1])).toBeGreaterThanOrEqual(30);
});

verifies("RUN-280", "the exit codes that a unit leaves alone are those of a wrong command line", () => {
  const ended = (...words: ReadonlyArray<string>) => spawnSync(process.execPath, words).status;
  const program = join(import.meta.dirname, "../../bin/social-harness.js");
  expect(ended("--no-such-flag-of-node", program, "daemon")).toBe(9);
  expect(ended(program, "daemon", "--no-such-flag")).toBe(2);
  // A folder without keys may get some.
  expect(ended(program, "daemon", "--state", join(folder, "none"))).toBe(1);
});

verifies("RUN-283", "how a program has itself started is read from its first line", () => {
  const program = join(folder, "program.mjs");
  const of = (line: string) => {
    writeFileSync(program, `${line}\nrest --not-a-flag\n`);
    return FirstLine.read(program);
  };
  expect(of("#!/usr/bin/env -S A=1 B_=x=y node --small --size=16")).toEqual({
    environment: { A: "1", B_: "x=y" },
    flags: ["--small", "--size=16"],
  });
  for (const line of ["#!/usr/bin/env node", "#!/usr/bin/node", "import 1;", ""])
    expect(of(line)).toEqual({ environment: {}, flags: [] });
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
  for (const word of ["a\nExecStartPre=/bin/evil", "\uffff", "\ufffe", "\ud800"])
    expect(isWritable({ ...service, command: ["node", word] })).toBe(false);
  // A backslash at the end of a line would take the next one with it.
  const text = Systemd.create("/x").textOf({ ...service, state: "/srv/odd\\" });
  expect(text.split("\n").filter((line) => line.endsWith("\\"))).toEqual([]);
});
