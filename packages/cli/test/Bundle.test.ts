// The single file: made, moved away from the repository, and run there, also on a Node that cannot run it.

import { execFile } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { beforeAll, describe, expect } from "vitest";
import { parseSync, Visitor } from "vite";
import { verifies } from "@social-harness/testkit/Verifies";
import { version } from "../src/Version.ts";
import { failureOf, repositoryRoot, run, temporaryFolder } from "./Binary.ts";
import { olderNodes, pretending, startedWith, tooOld, withoutSqlite } from "./OlderNodes.ts";

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
    "RUN-200",
    "does the main job where nothing else of this repository is, and names what it is made of",
    async () => {
      const text = readFileSync(program, "latin1");
      expect(text.split("\n", 1)[0]).toBe(
        "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=24576 node --optimize-for-size",
      );
      expect([...text].every((letter) => letter < "\u0080")).toBe(true);
      const { stdout } = await runFile(process.execPath, [program, "demo", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        ok: true,
        itemsExpected: 83,
        itemsDelivered: 83,
        restarts: 2,
      });
      const notices = readFileSync(join(made, "THIRD-PARTY-NOTICES.txt"), "utf8");
      for (const name of ["effect", "@modelcontextprotocol/server", "ws", "re2js", "zod"])
        expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
      expect(notices).not.toMatch(/see its licence/);
    },
    240_000,
  );

  verifies(
    "RUN-247",
    "C57 says in one sentence that an older Node is older, and writes nothing",
    (context) => {
      for (const node of olderNodes(context)) {
        const { message, next } = tooOld(node.version);
        const refused = { code: 2, stdout: "", stderr: `error: ${message}: ${next}\n`, written: [] };
        expect(startedWith(node, program, ["demo"])).toEqual(refused);
        const stderr = `${JSON.stringify({ error: tooOld(node.version) })}\n`;
        expect(startedWith(node, program, ["demo", "--json"])).toEqual({ ...refused, stderr });
      }
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
