// docs/installing.md, done: its commands for the single file in a place of their own, its unit before systemd's checker and then
// as a process, and what the container files run.

import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { beforeAll, describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { version } from "../src/Version.ts";
import { repositoryRoot, run, runHere, serve, temporaryFolder } from "./Binary.ts";

const runFile = promisify(execFile);
const textOf = (path: string): string => readFileSync(join(repositoryRoot, path), "utf8");
const page = textOf("docs/installing.md");

/** The first block of a language below a heading. */
const blockOf = (heading: string, language: string): string => {
  const [, after = ""] = page.split(`\n## ${heading}\n`);
  const found = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "ms").exec(after)?.[1];
  if (found === undefined) throw new Error(`no block of ${language} below "${heading}"`);
  return found;
};

const place = temporaryFolder();
const home = join(place, "home");
const command = join(place, "usr/local/bin/social-harness");
/** The places of the page, all below one folder. */
const placed = (text: string): string =>
  text.replaceAll(/(?<![\w.])\/(?=(?:opt|usr\/local\/bin|var\/lib)\/)/g, `${place}/`);

/** Lines of a shell, as a user whose home is empty and whose Node is this one. */
const shell = async (lines: string): Promise<string> => {
  const path = `${dirname(command)}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const env = { HOME: home, PATH: path };
  const { stdout } = await runFile("bash", ["-euc", placed(lines)], { cwd: place, env });
  return stdout;
};

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

beforeAll(async () => {
  mkdirSync(dirname(command), { recursive: true });
  mkdirSync(home);
  await runFile(process.execPath, [join(repositoryRoot, "tools/bundle.ts"), join(place, "dist")]);
  expect(await shell(blockOf("From the single file", "sh"))).toBe(`${version}\n`);
}, 240_000);

describe("docs/installing.md", () => {
  verifies(
    "RUN-287",
    "what the single file writes is where the page says, and is gone after its last lines",
    async () => {
      await shell("social-harness init");
      await shell("social-harness status --json || true");
      const written = filesBelow(home);
      expect(written).toContain(join(home, ".local/state/social-harness/default/identity.json"));
      for (const path of written)
        expect(path.startsWith(join(home, ".local/state/social-harness/default/"))).toBe(true);
      await shell(blockOf("Removing", "sh"));
      expect(filesBelow(home)).toEqual([]);
    },
    240_000,
  );

  verifies("RUN-287", "a clone has the command and a Node side by side where the page's PATH looks", () => {
    const path = /PATH=\/opt\/social-harness\/(\S+):\$PATH/.exec(blockOf("From a clone", "sh"))?.[1];
    for (const name of ["social-harness", "node"])
      expect(existsSync(join(repositoryRoot, path as string, name))).toBe(true);
  });

  verifies(
    "RUN-287",
    "systemd's checker takes the unit, and what it starts serves and stops",
    async ({ skip }) => {
      const unit = placed(blockOf("A unit of the system", "ini"));
      const [program, ...words] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "").split(" ");
      expect(program).toBe(command);
      const served = await serve([...words, "--listen", "127.0.0.1:0", "--json"], { entry: command });
      expect(served.ready).toMatchObject({ registryUrl: "https://talk.example.org" });
      expect(await served.stop()).toBe(0);
      const endpoint = /`daemon --state (\S+)`/.exec(page)?.[1] as string;
      const state = placed(endpoint);
      const started = await run(["daemon", "--state", state, "--json"], { entry: command });
      expect([started.code, started.stderr]).toEqual([1, expect.stringContaining("has no keys yet")]);

      if (spawnSync("systemd-analyze", ["--version"]).error !== undefined)
        return skip("this machine has no systemd-analyze");
      const path = join(place, "social-harness-network.service");
      // Whom it belongs to is made by hand, and is not there on this machine.
      const complaintsOf = (text: string): ReadonlyArray<string> => {
        writeFileSync(path, text);
        return spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" })
          .stderr.split("\n")
          .filter((line) => line.includes("social-harness-network"));
      };
      expect(complaintsOf(unit)).toEqual([]);
      expect(complaintsOf(unit.replace("Type=exec", "Type=sometimes"))).not.toEqual([]);
    },
    240_000,
  );
});

describe("the container files", () => {
  const compose = textOf("container/compose.yaml");
  const containerfile = textOf("container/Containerfile");

  verifies("RUN-288", "name the version, and commands that there are", async () => {
    const tags = [...`${compose}${containerfile}`.matchAll(/social-harness:(\d\S*)/g)].map(([, tag]) => tag);
    expect(tags).toEqual([version, version]);
    const calls = [...compose.matchAll(/(?:exec \w+ social-harness|run --rm endpoint) (.*)$/gm)];
    expect(calls.length).toBeGreaterThanOrEqual(5);
    for (const [, words = ""] of calls) {
      const [name = ""] = /^(?:network invite create|\S+)/.exec(words) ?? [];
      const { code, stdout } = await runHere([...name.split(" "), "--help"]);
      expect([code, stdout.startsWith(`Usage: social-harness ${name} `)]).toEqual([0, true]);
      for (const [flag] of words.matchAll(/--\w+/g)) expect(stdout).toContain(`${flag} `);
    }
  });

  verifies(
    "RUN-288",
    "tell a network that serves from one that does not",
    async () => {
      const script = /"(fetch\(.*)"/.exec(compose)?.[1] as string;
      const data = join(temporaryFolder(), "net");
      const served = await serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"], {
        entry: command,
      });
      const url = served.ready["registryUrl"] as string;
      const health = () =>
        runFile(process.execPath, ["-e", script.replace("http://127.0.0.1:7440", url)]).then(
          () => "healthy",
          () => "unhealthy",
        );
      expect(await health()).toBe("healthy");
      expect(await served.stop()).toBe(0);
      expect(await health()).toBe("unhealthy");
    },
    240_000,
  );
});
