// `npm run soak`: eight daemons and thirty writers for hours. One line a check; at the end one line of figures, and exit code
// 1 where a check failed, the folder with every disk and log kept then.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as Process from "../faults/Process.ts";
import * as ProgramOptions from "../ProgramOptions.ts";
import * as Soak from "./Soak.ts";

const { options } = ProgramOptions.take({
  command: "npm run soak",
  about:
    "Has many writers post without pause between real daemons, and looks once a minute at every store, write-ahead log and process.",
  options: {
    hours: ProgramOptions.wholeNumber("N", "how many hours", 1),
    minutes: ProgramOptions.wholeNumber("N", "or how many minutes; 30 where both are left out", 1),
    endpoints: ProgramOptions.wholeNumber("N", "how many daemons, three at least; 8 where it is left out", 3),
    writers: ProgramOptions.wholeNumber("N", "how many at once; 30 where it is left out", 1),
  },
});
const folder = mkdtempSync(join(tmpdir(), "social-harness-soak-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const minutes = options.hours === undefined ? (options.minutes ?? 30) : options.hours * 60;
say(`${minutes} minutes in ${folder}`);
try {
  const result = await Soak.run({
    folder,
    seconds: minutes * 60,
    checkSeconds: 60,
    endpoints: options.endpoints ?? 8,
    writers: options.writers ?? 30,
    say,
  });
  const ok = result.problems.length === 0;
  say(JSON.stringify({ ok, ...result }));
  if (ok) rmSync(folder, { recursive: true });
  else say(`everything is kept in ${folder}`);
  process.exitCode = ok ? 0 : 1;
} finally {
  Process.endAll();
}
