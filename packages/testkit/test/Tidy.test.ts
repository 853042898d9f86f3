// The repository is tidy, and every rule of tidy can fail: each has an example that breaks it and one close by that does not.

import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as Tidy from "@social-harness/testkit/Tidy";
import * as TidyGraph from "@social-harness/testkit/TidyGraph";
import * as TidyTree from "@social-harness/testkit/TidyTree";

type Files = Readonly<Record<string, string>>;

const prose = "// Owns one thing and refuses to know another.\n";
const manifest = (fields: object): string => JSON.stringify({ name: "any", ...fields });
const treeOf = (files: Files): TidyTree.Tree => TidyTree.of(new Map(Object.entries(files)));

interface Example {
  /** A repository that breaks the rule, and nothing else is asked of it. */
  readonly broken: Files;
  /** What the finding says, among others. */
  readonly says: string;
  /** The nearest repository that keeps it. */
  readonly sound: Files;
}

const logUsing = (specifier: string): Files => ({ "packages/log/src/A.ts": `import "${specifier}";\n` });
const inside = (folder: string, code: string): Files => ({ [`packages/${folder}/src/A.ts`]: `${code}\n` });
const inTest = (code: string): Files => ({ "packages/log/test/A.test.ts": `${code}\n` });
/** Spelt apart, so that tidy does not find this file. */
const elsewhere = ["", "home", "someone", "notes"].join("/");
const otherRegistry = `"resolved": ${JSON.stringify("https://packages.example/x.tgz")}`;

const started = { "package.json": manifest({ scripts: { go: "node bench/main.ts" } }) };

const examples: Readonly<Record<string, Example>> = {
  arrows: {
    broken: logUsing("@social-harness/registry/client/A"),
    says: "log imports @social-harness/registry/client/A; it may import protocol",
    sound: logUsing("@social-harness/protocol/Limits"),
  },
  "behind the wire": {
    broken: inside("endpoint", 'import "@social-harness/router/service/Service";'),
    says: "through their clients only",
    sound: inside("endpoint", 'import "@social-harness/router/client/Client";'),
  },
  "relative imports": {
    broken: logUsing("../../protocol/src/Limits.ts"),
    says: "import @social-harness/<package>/<path> instead",
    sound: {
      ...logUsing("./wire/A.ts"),
      ...inTest('import "../../../tools/vectors/A.ts";'),
      ...inside("testkit", 'new URL("../../cli/src/main.ts", import.meta.url);'),
    },
  },
  "declared dependencies": {
    broken: { ...logUsing("ws"), "packages/log/package.json": manifest({ devDependencies: { ws: "1" } }) },
    says: "ws is not among the dependencies of packages/log/package.json",
    sound: { ...logUsing("ws"), "packages/log/package.json": manifest({ dependencies: { ws: "1" } }) },
  },
  "import cycles": {
    broken: {
      "packages/log/src/A.ts": 'import "./B.ts";\n',
      "packages/log/src/B.ts": 'export * from "./C.ts";\n',
      "packages/log/src/C.ts": 'import type { A } from "./A.ts";\n',
    },
    says: "A.ts -> packages/log/src/B.ts -> packages/log/src/C.ts -> packages/log/src/A.ts",
    sound: {
      "packages/log/src/A.ts": 'import "./B.ts";\nimport "./C.ts";\n',
      "packages/log/src/B.ts": 'import "./C.ts";\n',
      "packages/log/src/C.ts": 'new URL("./A.ts", import.meta.url);\n',
    },
  },
  "dead files": {
    broken: {
      ...started,
      "bench/main.ts": "export {};\n",
      "packages/log/src/A.ts": "export {};\n",
      "packages/log/test/A.test.ts": 'import "@social-harness/log/A";\n',
    },
    says: "packages/log/src/A.ts:1 [dead files] no binary and no npm script reaches this file",
    sound: {
      ...started,
      "bench/main.ts": 'import("@social-harness/log/A");\nnew URL("./child.ts", import.meta.url);\n',
      "bench/child.ts": "export {};\n",
      "packages/log/src/A.ts": "export {};\n",
    },
  },
  clock: {
    broken: inside("log", "export const now = Date.now;"),
    says: "Date.now: take the time as a parameter",
    sound: inside("log", "export const at = (now: number) => new Date(now);"),
  },
  randomness: {
    broken: inside("log", 'const x = Math["random"]();'),
    says: "Math.random: take a source of random bytes as a parameter",
    sound: inside("log", "const x = Math.max(1, 2); // not Math.random()"),
  },
  "timers in the protocol": {
    broken: inside("protocol", "setTimeout(() => {}, 1);"),
    says: "return the deadline as a value",
    sound: inside("router", "setTimeout(() => {}, 1);"),
  },
  console: {
    broken: inside("log", 'console.log("x");'),
    says: "console.log: take a log function as a parameter",
    sound: inside("cli", 'console.log("x");'),
  },
  any: {
    broken: inside("cli", "const x = (1 as any).y;"),
    says: "decode the value",
    sound: inside("cli", 'const x = "as any";'),
  },
  environment: {
    broken: inside("endpoint", "const home = process.env.HOME;"),
    says: "the command line reads the environment",
    sound: inside("endpoint", "const pid = process.pid;"),
  },
  only: {
    broken: inTest('test.only("x", () => {});'),
    says: "npx vitest run",
    sound: inTest('test("only", () => {});'),
  },
  "skip without a reason": {
    broken: inTest('describe.skip("x", () => {});\ntest("y", (context) => context.skip());'),
    says: "skipIf",
    sound: inTest(
      'test.skipIf(true)("x", () => {});\ntest("y", (context) => context.skip("no network here"));',
    ),
  },
  "expect without a matcher": {
    broken: inTest("expect(1 + 1 === 2);"),
    says: "it asserts nothing",
    sound: inTest("expect(1 + 1).toBe(2);"),
  },
  "effect barrel": {
    broken: inside("log", 'import { Schema } from "effect";'),
    says: "effect/Schema",
    sound: inside("log", 'import * as Schema from "effect/Schema";'),
  },
  "I/O in the protocol": {
    broken: inside("protocol", 'import { randomBytes, createHash } from "node:crypto";'),
    says: "take a value or a capability",
    sound: inside("protocol", 'import { createHash, type KeyObject } from "node:crypto";'),
  },
  "file length": {
    broken: inside("log", "\n".repeat(400)),
    says: "401 lines; at most 400",
    sound: inside("log", "\n".repeat(399)),
  },
  "prose header": {
    broken: inside("log", "// A.\nexport {};"),
    says: "what the file owns",
    sound: inside("log", `${prose}export {};`),
  },
  "folder names": {
    broken: { "packages/log/src/utils/A.ts": "" },
    says: "a folder called utils says nothing",
    sound: { "packages/log/src/wire/Types.ts": "" },
  },
  "file names": {
    broken: { "packages/log/src/sqlite-log.ts": "" },
    says: "PascalCase",
    sound: { "packages/log/src/main.ts": "", "packages/log/src/SqliteLog.ts": "" },
  },
  "machine paths": {
    broken: { "README.md": `see ${elsewhere}` },
    says: "a path of one machine",
    sound: { "README.md": "see ./home/someone/notes and https://example.com/home/" },
  },
  "package registry": {
    broken: { "package-lock.json": otherRegistry },
    says: "public registry",
    sound: { "package-lock.json": '"resolved": "packages/log"' },
  },
};

describe("every rule can fail", () => {
  // The list of kept files names files of this repository; the examples keep none.
  const rules = Tidy.rules.map((rule) => (rule.name === "dead files" ? TidyGraph.deadFilesRule({}) : rule));
  for (const rule of rules) {
    test(rule.name, () => {
      const example = examples[rule.name];
      if (example === undefined) throw new Error(`the rule ${rule.name} has no example that breaks it`);
      expect(Tidy.check(treeOf(example.broken), [rule]).join("\n")).toContain(example.says);
      expect(Tidy.check(treeOf(example.sound), [rule])).toEqual([]);
    });
  }

  test("a kept file that is reached after all is reported", () => {
    const rule = TidyGraph.deadFilesRule({ "bench/main.ts": "no reason", "bench/gone.ts": "no reason" });
    const findings = Tidy.check(treeOf({ ...started, "bench/main.ts": "export {};\n" }), [rule]);
    expect(findings.map((line) => line.split(":")[0])).toEqual(["bench/main.ts", "bench/gone.ts"]);
  });

  test("a script that names no file is reported", () => {
    expect(Tidy.check(treeOf(started), [TidyGraph.deadFilesRule({})]).join()).toContain("does not exist");
  });
});

describe("this repository", () => {
  const tree = TidyTree.load(fileURLToPath(new URL("../../../", import.meta.url)));

  test("is the one that was read", () => {
    expect(tree.sources.map(({ path }) => path)).toContain("packages/testkit/test/Tidy.test.ts");
    expect(tree.texts.map(({ path }) => path)).toContain(".ci/run");
    expect(tree.manifests.map(({ folder }) => folder)).toContain("protocol");
  });

  for (const rule of Tidy.rules) {
    test(rule.name, () => {
      expect(Tidy.check(tree, [rule])).toEqual([]);
    });
  }
});
