// The single file: made, moved away from the repository, and run there, also on a Node that cannot run it.

import { execFile } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { beforeAll, describe, expect } from "vitest";
import { parseSync, Visitor } from "vite";
import { verifies } from "@social-harness/testkit/Verifies";
import { version } from "../src/Version.ts";
import { failureOf, lastJson, repositoryRoot, run, serve, temporaryFolder } from "./Binary.ts";
import { expectTooOld, olderNodes, pretending, tooOld, withoutSqlite } from "./OlderNodes.ts";

const runFile = promisify(execFile);

const made = temporaryFolder();
const program = join(temporaryFolder(), "social-harness.mjs");
beforeAll(async () => {
  await runFile(process.execPath, [join(repositoryRoot, "tools/bundle.ts"), made]);
  copyFileSync(join(made, "social-harness.mjs"), program);
}, 240_000);

/** What stands in it that a Node of some years ago could not even parse. */
const newWordsIn = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = [];
  const { program: tree, errors } = parseSync("social-harness.mjs", text);
  expect(errors).toEqual([]);
  new Visitor({
    VariableDeclaration: ({ kind }) => {
      if (kind === "using" || kind === "await using") found.push(kind);
    },
    Literal: (literal) => {
      if (!("regex" in literal)) return;
      const { pattern, flags } = literal.regex;
      if (flags.includes("v") || /\(\?[ims]*-?[ims]+:/.test(pattern)) found.push(`/${pattern}/${flags}`);
    },
    ImportExpression: ({ options }) => {
      if (options !== null) found.push("import attributes");
    },
  }).visit(tree);
  return found;
};

describe("the single file", () => {
  verifies(
    ["RUN-200", "RUN-285"],
    "does the main job where nothing else of this repository is, and names what it is made of",
    async () => {
      const text = readFileSync(program, "latin1");
      expect(text.split("\n", 1)[0]).toBe(
        "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=24576 node --optimize-for-size",
      );
      expect([...text].every((letter) => letter < "\u0080")).toBe(true);
      const { stdout } = await runFile(process.execPath, [program, "demo"]);
      expect(stdout).toContain("83 of 83 items delivered, 0 missing, 0 doubled, 0 out of order, 2 restarts");
      expect(stdout).toContain(
        "(the second verifier, tools/verify.py of the repository, is not here: it was not asked)",
      );
      const notices = readFileSync(join(made, "THIRD-PARTY-NOTICES.txt"), "utf8");
      for (const name of ["effect", "@modelcontextprotocol/server", "ws", "re2js", "zod"])
        expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
      expect(notices).not.toMatch(/see its licence/);
    },
    240_000,
  );

  verifies(
    "RUN-283",
    "a service of it has what its first line sets, however it was started",
    async ({ skip }) => {
      if (process.platform !== "linux") return skip("systemd is Linux's");
      const [state, data] = [join(temporaryFolder(), "ada"), join(temporaryFolder(), "net")];
      const served = await serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"], {
        entry: program,
      });
      const invite = served.ready["invite"] as string;
      expect((await run(["init", invite, "--state", state], { entry: program })).code).toBe(0);
      expect(await served.stop()).toBe(0);
      const file = join(state, "config.json");
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), port: 0 }));

      const words = ["service", "install", "--dry-run", "--state", state, "--json"];
      const command = `"${process.execPath}" "--optimize-for-size" "${program}" "daemon" "--state"`;
      const byNode = lastJson(await run(words, { entry: program }))["text"] as string;
      const { stdout } = await runFile(program, words, {
        env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
      });
      for (const text of [byNode, (JSON.parse(stdout) as { readonly text: string }).text]) {
        expect(text).toContain(`ExecStart=${command}`);
        expect(text).toContain('Environment="MALLOC_ARENA_MAX=1"\n');
        expect(text).toContain('Environment="MALLOC_MMAP_THRESHOLD_=24576"\n');
      }
      const own = await run(words, {
        entry: program,
        nodeOptions: ["--optimize-for-size"],
        env: { MALLOC_ARENA_MAX: "2" },
      });
      expect(lastJson(own)["text"]).toContain(`ExecStart=${command}`);
      expect(lastJson(own)["text"]).toContain('Environment="MALLOC_ARENA_MAX=2"\n');
    },
    240_000,
  );

  verifies(
    "RUN-247",
    "C57 says in one sentence that an older Node is older, and writes nothing",
    (context) => {
      expectTooOld(olderNodes(context), program);
    },
  );

  verifies(
    "RUN-247",
    "C57 imports nothing before it has looked at its Node, in words that old ones read",
    () => {
      const text = readFileSync(program, "utf8");
      const [, ...rest] = text.split("\n");
      const check = readFileSync(join(repositoryRoot, "packages/cli/bin/NodeCheck.js"), "utf8");
      expect(rest.join("\n").startsWith(check)).toBe(true);
      expect(parseSync("social-harness.mjs", text).module.staticImports).toEqual([]);
      expect(newWordsIn(text)).toEqual([]);
      expect(newWordsIn('using a = b; /[a--b]/v; /(?i:a)/; import("a", {});')).toHaveLength(4);
    },
  );

  verifies(
    "RUN-247",
    "C57 looks at the version and for the SQLite of its Node before all else",
    async () => {
      const old = await run(["--version"], { entry: program, nodeOptions: pretending("v16.20.2") });
      const { message, next } = tooOld("v16.20.2");
      expect(old).toEqual({ code: 2, stdout: "", stderr: `error: ${message}: ${next}\n` });
      const young = await run(["--version"], { entry: program, nodeOptions: pretending("v100.0.0") });
      expect(young).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
      const env = { NODE_OPTIONS: "--no-experimental-sqlite" };
      const without = await run(["status", "--json"], { entry: program, env });
      expect([without.code, without.stdout, failureOf(without)]).toEqual([2, "", withoutSqlite]);
    },
    240_000,
  );
});
