// What the documents say can be done: every command, flag, script, file and link that they name exists.
// Whether a command does what they say is for the tests of the command line.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { scenarioNames, scenarios } from "@social-harness/testkit/simulation/Scenarios";
import * as TidyTree from "@social-harness/testkit/TidyTree";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const tree = TidyTree.load(root);
const documents = tree.texts.filter(({ path }) => path.endsWith(".md"));
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

/** The lines of the shell blocks of a document. */
const shellLines = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => (block as string).trim().split("\n"));

interface Call {
  readonly subcommand: string;
  readonly flags: ReadonlyArray<string>;
}

const callsIn = (lines: ReadonlyArray<string>): ReadonlyArray<Call> =>
  lines.flatMap((line) => {
    const words = /^npx social-harness (.*)$/.exec(line)?.[1]?.split(" ");
    if (words === undefined) return [];
    const depth = words[0] === "network" ? (words[1] === "invite" ? 3 : 2) : 1;
    return [
      { subcommand: words.slice(0, depth).join(" "), flags: words.filter((word) => word.startsWith("--")) },
    ];
  });

const help = async (subcommand: string): Promise<string> => {
  const binary = join(root, "packages/cli/bin/social-harness.js");
  const words = subcommand.split(" ");
  const { stdout } = await promisify(execFile)(process.execPath, [binary, ...words, "--help"]);
  return stdout;
};

describe("the README", () => {
  const lines = shellLines(textOf("README.md"));
  const calls = callsIn(lines);

  test("opens with two commands that need nothing else", () => {
    expect(lines.slice(0, 2)).toEqual(["npm ci && npm run demo", "npm ci && npm test"]);
  });

  test("shows a whole conversation", () => {
    const shown = [
      "network start",
      "network invite create",
      "join",
      "daemon",
      "send",
      "inbox",
      "ack",
      "history",
    ];
    expect(calls.map(({ subcommand }) => subcommand)).toEqual(
      expect.arrayContaining([...shown, "export", "verify"]),
    );
  });

  for (const subcommand of new Set(calls.map((call) => call.subcommand))) {
    test(`names only flags that ${subcommand} has`, async () => {
      const known = await help(subcommand);
      const flags = calls.filter((call) => call.subcommand === subcommand).flatMap((call) => call.flags);
      for (const flag of flags) expect(known).toMatch(new RegExp(`(^|[ ,])${flag}( |$)`, "m"));
    });
  }
});

test("every npm script that a document names exists", () => {
  const scripts = Object.keys((JSON.parse(textOf("package.json")) as { scripts: object }).scripts);
  const named = documents.flatMap(({ text }) =>
    [...text.matchAll(/npm run (?:-s )?([a-z:-]+)/g)].map((match) => match[1]),
  );
  expect(named.length).toBeGreaterThan(5);
  for (const script of named) expect(scripts).toContain(script);
});

test("every relative link of a document leads somewhere", () => {
  const dead = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map((match) => match[1] as string)
      .filter((target) => !existsSync(join(root, dirname(path), target)))
      .map((target) => `${path}: ${target}`),
  );
  expect(dead).toEqual([]);
});

test("every file and folder on the map of the code exists", () => {
  const names = new Set(tree.sources.map(({ path }) => path.slice(path.lastIndexOf("/") + 1)));
  const paths = [...tree.sources, ...tree.texts].map(({ path }) => path);
  const exists = (word: string): boolean => {
    if (word.endsWith("/")) return paths.some((path) => path.includes(`/${word}`) || path.startsWith(word));
    return (
      names.has(word.replace("Tidy*", "Tidy")) ||
      paths.some((path) => path === word || path.startsWith(`${word}/`))
    );
  };
  const words = [...textOf("ARCHITECTURE.md").matchAll(/`([\w./*-]+(?:\.ts|\.py|\/)|packages\/\w+)`/g)].map(
    (match) => match[1] as string,
  );
  expect(words.length).toBeGreaterThan(30);
  expect(words.filter((word) => !exists(word))).toEqual([]);
});

test("the scenarios of the simulator and their shares are the ones in the code", () => {
  const rows = [...textOf("docs/simulation.md").matchAll(/^\| ([a-z-]+) +\| +(\d+) % \|/gm)];
  const written = Object.fromEntries(rows.map(([, name, share]) => [name, Number(share)]));
  const shares = Object.fromEntries(scenarioNames.map((name) => [name, scenarios[name].weight]));
  expect(written).toEqual(shares);
});

test("the transition table in the specification is the one in the code", async () => {
  const tool = join(root, "tools", "write-table.ts");
  await expect(promisify(execFile)(process.execPath, [tool, "--check"])).resolves.toBeDefined();
});
