// `service` with a manager that only writes down what it is asked: the real one is not this test's to command.

import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { type Ended, failureOf, lastJson, main, run } from "../Binary.ts";
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
/** As in a shell by su, or in a container. */
const unreachable = (): void => {
  const script = `#!/bin/sh\necho "$@" >> ${asked}\necho "Failed to connect to bus: No medium found" >&2\nexit 1\n`;
  writeFileSync(join(programs, "systemctl"), script);
  chmodSync(join(programs, "systemctl"), 0o755);
};
const stopped = "ActiveState=inactive\\nSubState=dead\\nMainPID=0\\nUnitFileState=\\n";
const service = (...words: ReadonlyArray<string>) =>
  run(["service", ...words, "--state", ada, "--json"], { env });
const configure = (settings: object): void => {
  const file = join(ada, "config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...settings }));
};
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
  // The default port may be another program's on the machine that this runs on.
  configure({ port: 0 });
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
    expect([none.code, failureOf(none).reason]).toEqual([1, "no-folder"]);
    const daemon = await startDaemon(ada);
    const held = await service("install");
    expect([held.code, failureOf(held).reason]).toEqual([1, "daemon-running"]);
    expect(failureOf(held).message).toContain(`pid ${daemon.pid}`);
    // Looking changes nothing, so it is not refused.
    const looked = await service("install", "--dry-run");
    expect([looked.code, lastJson(looked)["installed"]]).toEqual([0, false]);
    expect(await daemon.stop()).toBe(0);
    const file = join(ada, "config.json");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(before), port: -1 }));
    const wrong = await service("install");
    expect([wrong.code, failureOf(wrong).reason]).toEqual([1, "configuration-invalid"]);
    writeFileSync(file, before);
  },
);

verifies(
  "RUN-281",
  "a folder that no daemon starts on gets no service, and no dry run shows one",
  async ({ skip }) => {
    if (!isLinux) return skip("systemd is Linux's");
    answering(stopped);
    const before = askedFor().length;
    const unit = lastJson(await service("install", "--dry-run"))["path"] as string;
    rmSync(unit, { force: true });
    const refusedAs = async (reason: string): Promise<void> => {
      for (const words of [["install"], ["install", "--dry-run"]]) {
        const ended = await service(...words);
        expect([ended.code, ended.stdout, failureOf(ended).reason]).toEqual([1, "", reason]);
        expect(failureOf(ended).message + failureOf(ended).next).not.toBe("");
      }
      expect([existsSync(unit), askedFor().length]).toEqual([false, before]);
    };
    const whole = readFileSync(join(ada, "endpoint.sqlite"));
    const store = (bytes: Uint8Array): void => writeFileSync(join(ada, "endpoint.sqlite"), bytes);

    const newer = new DatabaseSync(join(ada, "endpoint.sqlite"));
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    await refusedAs("store-newer-schema");
    const damaged = Uint8Array.from(whole);
    // The head of its second page: the first one alone is looked at by whoever opens it.
    damaged.fill(0xff, 4_096, 4_110);
    store(damaged);
    await refusedAs("store-corrupt");
    store(whole);

    writeFileSync(join(ada, "test-callbacks.json"), "{}", { mode: 0o600 });
    await refusedAs("state-not-allowed");
    rmSync(join(ada, "test-callbacks.json"));

    writeFileSync(join(ada, "owner-token"), "short", { mode: 0o600 });
    await refusedAs("state-malformed");
    rmSync(join(ada, "owner-token"));

    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    configure({ port });
    await refusedAs("cannot-listen");
    await new Promise((resolve) => other.close(resolve));
    configure({ port: 0 });
    expect(lastJson(await service("install", "--dry-run"))).toMatchObject({ installed: false });
  },
  240_000,
);

verifies(
  "RUN-282",
  "without a manager that answers nothing is written, what was is removed, and each says what to do",
  async ({ skip }) => {
    if (!isLinux) return skip("systemd is Linux's");
    unreachable();
    const unanswered = async (word: string): Promise<Ended> => {
      const ended = await service(word);
      expect([ended.code, failureOf(ended).reason]).toEqual([1, "service-manager-failed"]);
      expect(failureOf(ended).message).toContain("Failed to connect to bus");
      for (const way of ["XDG_RUNTIME_DIR", "machinectl", "enable-linger", "docs/installing.md"])
        expect(failureOf(ended).next).toContain(way);
      return ended;
    };
    const shown = lastJson(await service("install", "--dry-run"));
    const path = shown["path"] as string;
    expect(failureOf(await unanswered("install")).message).toContain("nothing was written");
    expect(existsSync(path)).toBe(false);
    expect((await service("status")).code).toBe(0);

    answering(stopped);
    lastJson(await service("install"));
    const link = join(path, "../default.target.wants", basename(path));
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(path, link);
    unreachable();
    expect(lastJson(await unanswered("status"))).toMatchObject({ installed: true, active: null });

    const daemon = await startDaemon(ada);
    expect(failureOf(await unanswered("uninstall")).message).toContain("nothing was removed");
    expect(existsSync(path)).toBe(true);
    expect(await daemon.stop()).toBe(0);
    expect(lastJson(await service("uninstall"))).toMatchObject({ removed: true });
    expect([existsSync(path), existsSync(link)]).toEqual([false, false]);
  },
  240_000,
);
