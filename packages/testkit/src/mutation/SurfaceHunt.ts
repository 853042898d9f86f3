// Hunts bugs of the endpoint's surface: each in a copy of the repository, where the one test that is named for it runs and
// must fail. The same test must pass in a copy without the bug, and a program that does not even load has been caught at
// nothing.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apply } from "./Mutant.ts";
import * as SourceCopy from "./SourceCopy.ts";
import type { SurfaceMutant } from "./SurfaceMutant.ts";

export interface Sighting {
  readonly title: string;
  /** The first line of what the test says. */
  readonly message: string;
}

export interface SurfaceHunted {
  readonly mutant: SurfaceMutant;
  readonly sighting: Sighting | null;
  /** Why it was not caught, or null. */
  readonly escape: string | null;
  readonly seconds: number;
}

export interface SurfaceHuntOptions {
  readonly jobs: number;
  readonly onHunted?: (hunted: SurfaceHunted) => void;
}

/** The slowest of the named tests waits half a minute for what a bug keeps from happening. */
const secondsMax = 180;

interface Assertion {
  readonly title: string;
  readonly status: string;
  readonly failureMessages: ReadonlyArray<string>;
}
/** What vitest writes with its JSON reporter, as far as it is read here. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string;
    readonly message: string;
    readonly assertionResults: ReadonlyArray<Assertion>;
  }>;
}

const escapeOf = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A hunt may itself be part of a run of tests, whose settings are none of its business. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST)/.test(name)));

/** Runs the tests that are named, in the copy; a run that writes no report says how it ended. */
const runIn = (folder: string, tests: ReadonlyArray<SurfaceMutant["test"]>): Promise<Report | string> =>
  new Promise((resolve) => {
    const report = join(folder, "report.json");
    const pattern = [...new Set(tests.map(({ title }) => escapeOf(title)))].join("|");
    const files = [...new Set(tests.map(({ file }) => file))];
    const words = [
      join(folder, "node_modules/vitest/vitest.mjs"),
      "run",
      ...files,
      "--testNamePattern",
      pattern,
      "--reporter=json",
      `--outputFile=${report}`,
    ];
    const options = { cwd: folder, env: environment(), timeout: secondsMax * 1_000, maxBuffer: 16_777_216 };
    execFile(process.execPath, words, options, (error, _stdout, stderr) => {
      if (error?.killed === true) return resolve(`no end within ${secondsMax} s`);
      try {
        resolve(JSON.parse(readFileSync(report, "utf8")) as Report);
      } catch {
        resolve(stderr.split("\n").find((line) => /Error/.test(line)) ?? error?.message ?? "no report");
      }
    });
  });

const ran = (report: Report, { file, title }: SurfaceMutant["test"]): ReadonlyArray<Assertion> =>
  report.testResults
    .filter(({ name }) => name.endsWith(file))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((one) => one.title.includes(title) && ["passed", "failed"].includes(one.status));

/** The program is broken, not its behaviour. */
const isBroken = (message: string): boolean => /^(Syntax|Reference)Error\b/.test(message);

const verdictOf = (
  report: Report | string,
  test: SurfaceMutant["test"],
): Pick<SurfaceHunted, "sighting" | "escape"> => {
  if (typeof report === "string") return { sighting: null, escape: report };
  const tests = ran(report, test);
  if (tests.length === 0) {
    const message = report.testResults.map((one) => one.message).find((one) => one !== "");
    return { sighting: null, escape: message?.split("\n")[0] ?? "the test did not run" };
  }
  const failed = tests.find(({ status }) => status === "failed");
  if (failed === undefined) return { sighting: null, escape: "the test does not object" };
  const message = failed.failureMessages[0]?.split("\n")[0] ?? "";
  return isBroken(message)
    ? { sighting: null, escape: message }
    : { sighting: { title: failed.title, message }, escape: null };
};

/** What is wrong with the tests themselves, without any bug. */
const problemsWithout = async (
  mutants: ReadonlyArray<SurfaceMutant>,
  folder: string,
): Promise<ReadonlyArray<string>> => {
  const report = await runIn(
    folder,
    mutants.map(({ test }) => test),
  );
  return mutants.flatMap(({ name, test }) => {
    if (typeof report === "string") return [`${name}: ${report}`];
    const tests = ran(report, test);
    if (tests.length === 0) return [`${name}: no test of ${test.file} has "${test.title}" in its title`];
    return tests
      .filter(({ status }) => status === "failed")
      .map(({ title, failureMessages }) => `${name}: fails without it: ${title}: ${failureMessages[0]}`);
  });
};

const hunt = async (mutant: SurfaceMutant, pristine: string): Promise<SurfaceHunted> => {
  const started = performance.now();
  const copy = SourceCopy.create(pristine, "tests");
  try {
    apply(mutant, copy.read, copy.write);
    const verdict = verdictOf(await runIn(copy.folder, [mutant.test]), mutant.test);
    return { ...verdict, mutant, seconds: (performance.now() - started) / 1_000 };
  } finally {
    copy.remove();
  }
};

/** Hunts all of them, and returns them in their order. Throws when a named test is not there or fails by itself. */
export const huntSurface = async (
  mutants: ReadonlyArray<SurfaceMutant>,
  { jobs, onHunted }: SurfaceHuntOptions,
): Promise<ReadonlyArray<SurfaceHunted>> => {
  const pristine = SourceCopy.create(undefined, "tests");
  try {
    const problems = await problemsWithout(mutants, pristine.folder);
    if (problems.length > 0) throw new Error(problems.join("\n"));
    const results: Array<SurfaceHunted> = [];
    const waiting = [...mutants.entries()];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [place, mutant] = next;
        const hunted = await hunt(mutant, pristine.folder);
        results[place] = hunted;
        onHunted?.(hunted);
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
    return results;
  } finally {
    pristine.remove();
  }
};
