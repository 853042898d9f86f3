// `npm run conformance`: the official MCP conformance suite against a real endpoint, every scenario that the 2026-07-28
// revision requires, in each mode that the endpoint knows. Fails for a check that fails without an excuse in
// expected-failures.json, and for an excuse that is no longer needed. `-- --list` names every failing check and its words.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { interruptible } from "../../packages/cli/src/lab/Interruptible.ts";
import * as Installed from "./Installed.ts";
import * as Program from "./Program.ts";
import * as Report from "./Report.ts";
import * as Subject from "./Subject.ts";

const revision = "2026-07-28";
const scenarioMsMax = "20000";

const expectations = Report.decodeExpectations(
  JSON.parse(readFileSync(new URL("expected-failures.json", import.meta.url), "utf8")),
);
const suite = Installed.commandOf("@modelcontextprotocol/conformance", "dist/index.js");
const listing = process.argv.includes("--list");

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The suite's own exit code counts what we excuse, so its result files are judged instead. */
const runAt = async (url: string): Promise<ReadonlyArray<Report.Check>> => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-conformance-"));
  try {
    const args = ["--url", url, "--requirements", revision, "-o", folder, "--timeout", scenarioMsMax];
    const { out, errors } = await Program.run(suite, ["server", ...args]);
    const checks = Report.read(folder);
    if (checks.length === 0) throw new Error(`the suite wrote no results: ${(errors || out).slice(-2_000)}`);
    return checks;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

let faults = 0;
const totals = { passed: 0, excused: 0 };
await interruptible((cleanUp) =>
  Subject.visitAll(cleanUp, async ({ name, url }) => {
    const checks = await runAt(url);
    const verdict = Report.judge(name, checks, expectations);
    say(`${name}: ${verdict.passed} passed, ${verdict.excused} excused, ${verdict.skipped} skipped`);
    for (const { key, outcome, words } of checks)
      if (listing && outcome === "failed") say(`  ${key}: ${words}`);
    for (const fault of verdict.faults) say(`  ${fault}`);
    faults += verdict.faults.length;
    totals.passed += verdict.passed;
    totals.excused += verdict.excused;
  }),
);
say(`conformance: ${totals.passed} passed, ${totals.excused} excused, ${faults} unexpected`);
process.exitCode = faults === 0 ? 0 : 1;
