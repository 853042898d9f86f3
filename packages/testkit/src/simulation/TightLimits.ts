// The simulator on a copy of the sources in which every bound is as small as it can be: what a run never reaches otherwise, a
// full list of candidates, a page of one record, the longest interval, the end of a post's life, comes all the time.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { apply, type Edit } from "../mutation/Mutant.ts";
import * as SourceCopy from "../mutation/SourceCopy.ts";

const file = "packages/protocol/src/Limits.ts";

const tightened = (name: string, value: string, tight: string): Edit => ({
  file,
  text: `export const ${name} = ${value};\n`,
  replacement: `export const ${name} = ${tight};\n`,
});

/** Each of them where the rule that it bounds still has to do its work. */
export const tightLimits: ReadonlyArray<Edit> = [
  tightened("candidatesPerAuthorMax", "4", "2"),
  tightened("voidsPerAuthorMax", "32", "2"),
  // A page frame has 32 kB of its own: one or two records remain.
  tightened("packetBytesMax", "380_000", "36_000"),
  tightened("silenceMsMax", "300_000", "12_000"),
  tightened("roundMsMax", "300_000", "30_000"),
  tightened("catchUpMsMax", "60_000", "6_000"),
  tightened("intentLifetimeMs", "604_800_000", "900_000"),
  tightened("withdrawalMs", "86_400_000", "300_000"),
];

/** Runs the command line of the simulator in such a copy. Returns its exit code. */
export const runTight = (args: ReadonlyArray<string>): number => {
  const copy = SourceCopy.create();
  try {
    const program = join(copy.folder, "packages/testkit/src/simulation/main.ts");
    apply({ name: "tight limits", edits: tightLimits }, copy.read, copy.write);
    return spawnSync(process.execPath, [program, ...args], { stdio: "inherit" }).status ?? 1;
  } finally {
    copy.remove();
  }
};
