// The calls, imports and words that do not appear in this repository, each with what to do instead.
// One row a rule: what it looks for, where, and the replacement.

import type { Finding, Rule } from "./TidyRule.ts";
import type { Import, Use } from "./TidySyntax.ts";
import type { SourceFile } from "./TidyTree.ts";

type Where = (file: SourceFile) => boolean;

const shipped: Where = ({ role, packageFolder }) => role === "src" && packageFolder !== "testkit";
/** The command line hands out the clock, the randomness, the log and the environment to everybody else. */
const belowTheCommandLine: Where = (file) => shipped(file) && file.packageFolder !== "cli";
const inProtocol: Where = ({ role, packageFolder }) => role === "src" && packageFolder === "protocol";
const inTests: Where = ({ role }) => role === "test";
const everywhere: Where = () => true;

const banUse = (name: string, where: Where, matches: (use: Use) => boolean, instead: string): Rule => ({
  name,
  find: ({ sources }) =>
    sources
      .filter(where)
      .flatMap((file) =>
        file.uses
          .filter(matches)
          .map((use): Finding => ({ path: file.path, line: use.line, message: `${use.name}: ${instead}` })),
      ),
});

const banImport = (
  name: string,
  where: Where,
  matches: (imported: Import) => boolean,
  instead: string,
): Rule => ({
  name,
  find: ({ sources }) =>
    sources.filter(where).flatMap((file) =>
      file.imports.filter(matches).map(({ specifier, line }): Finding => ({
        path: file.path,
        line,
        message: `${specifier}: ${instead}`,
      })),
    ),
});

const oneOf =
  (...names: ReadonlyArray<string>) =>
  (use: Use): boolean =>
    names.includes(use.name);

const timers = ["setTimeout()", "setInterval()", "setImmediate()", "queueMicrotask()"];
/** Pure functions over bytes. Anything random, timed or asynchronous stays out of the protocol. */
const pureCrypto = new Set(
  "createHash createHmac createPrivateKey createPublicKey createCipheriv createDecipheriv diffieHellman hash sign verify timingSafeEqual KeyObject".split(
    " ",
  ),
);
const testFunctions = /^(test|it|describe|suite|verifies)\b/;

export const bans: ReadonlyArray<Rule> = [
  banUse(
    "clock",
    belowTheCommandLine,
    oneOf("Date.now", "new Date()", "performance.now"),
    "take the time as a parameter",
  ),
  banUse(
    "randomness",
    belowTheCommandLine,
    oneOf("Math.random"),
    "take a source of random bytes as a parameter",
  ),
  banUse("timers in the protocol", inProtocol, oneOf(...timers), "return the deadline as a value"),
  banUse(
    "console",
    belowTheCommandLine,
    ({ name }) => name.startsWith("console.") && !name.endsWith("()"),
    "take a log function as a parameter",
  ),
  banUse("any", everywhere, oneOf("as any"), "decode the value, or narrow it from unknown"),
  banUse(
    "environment",
    belowTheCommandLine,
    oneOf("process.env"),
    "take the setting as a parameter; the command line reads the environment",
  ),
  banUse(
    "only",
    inTests,
    ({ name }) => testFunctions.test(name) && /\.only(\(\))?$/.test(name),
    "run one test with `npx vitest run <file> -t <name>`",
  ),
  banUse(
    "skip without a reason",
    inTests,
    ({ name, argument }) => name.endsWith(".skip()") && (testFunctions.test(name) || !argument),
    "call `context.skip(reason)` inside the test, or `skipIf` with a condition",
  ),
  banUse(
    "expect without a matcher",
    inTests,
    oneOf("expect() alone"),
    "it asserts nothing; say what the value must be",
  ),
  banImport(
    "effect barrel",
    everywhere,
    ({ specifier }) => specifier === "effect",
    "import the module (`effect/Schema`); the barrel costs a second at start",
  ),
  banImport(
    "I/O in the protocol",
    inProtocol,
    ({ specifier, names }) =>
      specifier.startsWith("node:") &&
      (specifier !== "node:crypto" || names.length === 0 || names.some((name) => !pureCrypto.has(name))),
    "the protocol does no I/O, reads no clock and draws no randomness; take a value or a capability",
  ),
];
