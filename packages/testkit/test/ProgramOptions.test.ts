// The developers' programs say how they are used, and refuse what they cannot mean instead of doing something else.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as ProgramOptions from "@social-harness/testkit/ProgramOptions";

const program = {
  command: "npm run example",
  about: "Shows what a declaration comes to.",
  words: { takes: "NAME...", means: "only these", among: ["one", "two"] },
  options: {
    seeds: ProgramOptions.wholeNumber("N", "how many", 1),
    kind: ProgramOptions.oneOf("KIND", "which", ["good", "bad"]),
    only: ProgramOptions.someOf("NAME", "these", ["a", "b"]),
    json: ProgramOptions.flag("as JSON"),
  },
};

const parse = (...words: ReadonlyArray<string>) => ProgramOptions.parse(program, words);
const nothing = { seeds: undefined, kind: undefined, only: [], json: false };

describe("a declaration", () => {
  test("reads what it declares", () => {
    expect(parse()).toEqual({ kind: "options", options: nothing, words: [] });
    expect(parse("two", "--seeds", "7", "--kind=bad", "--only", "a", "--only", "b", "--json")).toEqual({
      kind: "options",
      options: { seeds: 7, kind: "bad", only: ["a", "b"], json: true },
      words: ["two"],
    });
  });

  test("refuses everything else in one line", () => {
    const refused: ReadonlyArray<readonly [words: ReadonlyArray<string>, says: RegExp]> = [
      [["--seeds", "0"], /^--seeds takes a whole number from 1 on$/],
      [["--seeds=-3"], /^--seeds takes a whole number from 1 on$/],
      [["--seeds", "-3"], /--seeds/],
      [["--seeds", "1.5"], /whole number/],
      [["--seeds", "1e3"], /whole number/],
      [["--seeds", ""], /whole number/],
      [["--seeds", "9".repeat(16)], /whole number/],
      [["--seeds"], /--seeds/],
      [["--seeds", "1", "--seeds", "2"], /^--seeds is given once$/],
      [["--kind", "ugly"], /^--kind is one of good, bad$/],
      [["--only", "c"], /^--only is one of a, b$/],
      [["--json=yes"], /--json/],
      [["--bogus"], /--bogus/],
      [["three"], /^NAME\.\.\. is one of one, two$/],
    ];
    for (const [words, says] of refused) {
      const parsed = parse(...words);
      expect([words, parsed]).toEqual([words, { kind: "wrong", message: expect.stringMatching(says) }]);
      expect(parsed).toEqual({ kind: "wrong", message: expect.not.stringContaining("\n") });
    }
    const { words: _, ...wordless } = program;
    expect(ProgramOptions.parse(wordless, ["one"])).toEqual({
      kind: "wrong",
      message: "one belongs to no option",
    });
  });

  test("writes its help, and help wins over whatever stands beside it", () => {
    expect(parse("--bogus", "--help")).toEqual({ kind: "help" });
    expect(parse("-h")).toEqual({ kind: "help" });
    expect(ProgramOptions.helpOf(program)).toBe(`npm run example -- [NAME...] [options]

Shows what a declaration comes to.

  NAME...      only these
  --seeds N    how many
  --kind KIND  which: good, bad
  --only NAME  these
  --json       as JSON
  --help       this text
`);
  });
});

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (name: string, ...words: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    const path = (scripts[name] as string).replace(/^node /, "");
    execFile(process.execPath, [join(root, path), ...words], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

describe("npm run", () => {
  for (const name of ["sim", "mutants", "faults", "bench", "vectors", "table"]) {
    test(`${name} has --help, and refuses an option that it does not know`, async () => {
      const helped = await run(name, "--help");
      expect([helped.code, helped.stderr]).toEqual([0, ""]);
      expect(helped.stdout).toContain(`npm run ${name} -- `);
      const wrong = await run(name, "--bogus");
      expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
      expect(wrong.stderr).toMatch(/^.*--bogus.*\n\n/);
      expect(wrong.stderr.endsWith(helped.stdout)).toBe(true);
    });
  }

  test("faults takes phases with --steps alone, and --steps without what is drawn", async () => {
    for (const words of [
      ["--phase", "send"],
      ["--steps", "--rounds", "1"],
      ["--steps", "--power"],
    ]) {
      const refused = await run("faults", ...words);
      expect([refused.code, refused.stdout]).toEqual([2, ""]);
      expect(refused.stderr).toMatch(/^.*--steps.*\n\n/);
    }
  });

  test("sim shows a whole run, and no trace of more seeds than one", async () => {
    const trace = await run("sim", "--trace", "--scenario", "clocks");
    expect(trace.code).toBe(0);
    const lines = trace.stdout.trimEnd().split("\n");
    const seed = /^seed (\d+), scenario clocks, /.exec(lines[0] as string)?.[1];
    expect(lines.at(-1)).toMatch(/^holds: \d+ records certified$/);
    expect(await run("sim", "--trace", "--scenario", "clocks", "--seed", seed as string)).toEqual(trace);
    const two = await run("sim", "--trace", "--seeds", "2");
    expect([two.code, two.stdout]).toEqual([2, ""]);
  });
});
