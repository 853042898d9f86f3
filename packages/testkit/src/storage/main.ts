// `npm run storage`: writers without pause on one endpoint whose histories are read meanwhile. One line a check; at the end
// one line with what the write-ahead logs grew to, and exit code 1 where a check failed.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startNetwork } from "../network/Network.ts";
import * as ProgramOptions from "../ProgramOptions.ts";
import * as Load from "./Load.ts";

const { options } = ProgramOptions.take({
  command: "npm run storage",
  about:
    "Has many writers post without pause to one endpoint while its histories are read by readers who never come back, and checks the whole store again and again.",
  options: {
    minutes: ProgramOptions.wholeNumber("N", "how long; 60 where it is left out", 1),
    writers: ProgramOptions.wholeNumber("N", "how many at once; 30 where it is left out", 1),
  },
});
const folder = mkdtempSync(join(tmpdir(), "social-harness-load-"));
const network = await startNetwork({ folder });
const result = await Load.run({
  network,
  random: (byteCount) => randomBytes(byteCount),
  seconds: (options.minutes ?? 60) * 60,
  checkSeconds: 60,
  writers: options.writers ?? 30,
  postBytes: 2_000,
  say: (line) => void process.stdout.write(`${line}\n`),
});
await network.close();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify({ ok: result.problems.length === 0, ...result })}\n`);
process.exitCode = result.problems.length === 0 ? 0 : 1;
