// `service` with a manager that only writes down what it is asked: the real one is not this test's to command.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, lastJson, main, run } from "../Binary.ts";
import { joined, root, startDaemon } from "../Town.ts";

const isLinux = process.platform === "linux";
const ada = join(root, "ada");
const programs = join(root, "programs");
const asked = join(root, "asked");
const env = { PATH: `${programs}:${process.env["PATH"]}`, XDG_CONFIG_HOME: join(root, "config") };
/** What `systemctl show` prints, and what the others end with. */
const answering = (shown: string, code = 0): void => {
  const script = `#!/bin/sh\necho "$@" >> ${asked}\n[ "$2" = show ] && { printf '${shown}'; exit 0; }\n[ ${code} = 0 ] || echo "Failed to connect to bus" >&2\nexit ${code}\n`;
  writeFileSync(join(programs, "systemctl"), script);
  chmodSync(join(programs, "systemctl"), 0o755);
};
const stopped = "ActiveState=inactive\\nSubState=dead\\nMainPID=0\\nUnitFileState=\\n";
const service = (...words: ReadonlyArray<string>) =>
  run(["service", ...words, "--state", ada, "--json"], { env });
const askedFor = (): ReadonlyArray<string> =>
  existsSync(asked)
    ? readFileSync(asked, "utf8")
        .trimEnd()
        .split("\n")
        .filter((line) => !line.includes(" show "))
    : [];

beforeAll(async () => {
  mkdirSync(programs);
  await joined(ada, "ada-agent");
});

verifies("RUN-152", "a dry run shows the unit and the commands, and does nothing", async ({ skip }) => {
  if (!isLinux) return skip("systemd is Linux's");
  answering(stopped);
  const shown = lastJson(await service("install", "--dry-run"));
  expect(shown).toMatchObject({ installed: false });
  expect(shown["text"]).toContain(`"${main}" "daemon" "--state" "${ada}"\n`);
  expect(shown["commands"]).toEqual([
    "systemctl --user daemon-reload",
    `systemctl --user enable ${shown["name"]}.service`,
    `systemctl --user restart ${shown["name"]}.service`,
  ]);
  expect([existsSync(shown["path"] as string), askedFor()]).toEqual([false, []]);
});

verifies(
  "RUN-153",
  "install writes and starts, status tells, uninstall stops and removes",
  async ({ skip }) => {
    if (!isLinux) return skip("systemd is Linux's");
    answering(stopped);
    const installed = lastJson(await service("install"));
    const unit = `${installed["name"] as string}.service`;
    const path = installed["path"] as string;
    expect([installed["installed"], existsSync(path)]).toEqual([true, true]);
    expect(askedFor()).toEqual(["--user daemon-reload", `--user enable ${unit}`, `--user restart ${unit}`]);
    expect(lastJson(await service("install"))).toMatchObject({ changed: false });
    answering("ActiveState=active\\nSubState=running\\nMainPID=77\\nUnitFileState=enabled\\n");
    expect(lastJson(await service("status"))).toMatchObject({
      installed: true,
      active: true,
      enabled: true,
      pid: 77,
      daemon: null,
    });
    expect(lastJson(await service("uninstall"))).toMatchObject({ removed: true });
    expect(existsSync(path)).toBe(false);
    expect(askedFor().slice(-2)).toEqual([`--user disable --now ${unit}`, "--user daemon-reload"]);
    expect(lastJson(await service("uninstall"))).toMatchObject({ removed: false });
    expect(lastJson(await service("status"))).toMatchObject({ installed: false, active: null });
  },
  240_000,
);

verifies(
  "RUN-250",
  "C57 status names the Node, or the program, that the unit starts and that is gone, with what to do",
  async ({ skip }) => {
    if (!isLinux) return skip("systemd is Linux's");
    answering(stopped);
    const path = lastJson(await service("install"))["path"] as string;
    const written = readFileSync(path, "utf8");
    expect(lastJson(await service("status"))).toMatchObject({ installed: true, missing: null });
    for (const there of [process.execPath, main]) {
      const gone = join(root, `50% "older" $HOME`, "there");
      const quoted = `"${root}/50%% \\"older\\" ${there === main ? "$$" : "$"}HOME/there"`;
      writeFileSync(
        path,
        written.replace(`"${there}"`, () => quoted),
      );
      expect(lastJson(await service("status"))).toMatchObject({ installed: true, missing: gone });
      const said = await run(["service", "status", "--state", ada], { env });
      expect(said.stdout).toContain(
        `What it starts is no longer there (${gone}): install it again with \`social-harness service install --state ${ada}\`.`,
      );
    }
    expect(lastJson(await service("install"))).toMatchObject({ changed: true });
    expect(readFileSync(path, "utf8")).toBe(written);
  },
  240_000,
);

verifies("RUN-153", "a manager that cannot be used is told, with what is left to do", async ({ skip }) => {
  if (!isLinux) return skip("systemd is Linux's");
  answering(stopped, 1);
  const failed = await service("install");
  expect([failed.code, failureOf(failed).reason]).toEqual([1, "service-manager-failed"]);
  expect(failureOf(failed).message).toContain("Failed to connect to bus");
  expect(failureOf(failed).next).toContain("systemctl --user daemon-reload && systemctl --user enable ");
});

verifies(
  "RUN-152",
  "what would keep the daemon from starting is told before anything is written",
  async ({ skip }) => {
    if (!isLinux) return skip("systemd is Linux's");
    answering(stopped);
    const none = await run(["service", "install", "--state", join(root, "none"), "--json"], { env });
    expect([none.code, failureOf(none).reason]).toEqual([1, "no-keys"]);
    const daemon = await startDaemon(ada);
    const held = await service("install");
    expect([held.code, failureOf(held).reason]).toEqual([1, "daemon-running"]);
    expect(failureOf(held).message).toContain(`pid ${daemon.pid}`);
    expect(await daemon.stop()).toBe(0);
    const file = join(ada, "config.json");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(before), port: -1 }));
    const wrong = await service("install");
    expect([wrong.code, failureOf(wrong).reason]).toEqual([1, "configuration-invalid"]);
    writeFileSync(file, before);
  },
);
