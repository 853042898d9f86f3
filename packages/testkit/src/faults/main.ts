// `npm run faults`: SIGKILL at random instants, on real processes. One line a round; at the end one line of counts, or the seed, what broke, and the folder that holds every disk and log.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as ProgramOptions from "../ProgramOptions.ts";
import * as PowerCut from "../storage/PowerCut.ts";
import * as Plan from "./Plan.ts";
import { run } from "./Run.ts";

const program = {
  command: "npm run faults",
  about:
    "Kills and pauses the real processes of a network and its endpoints at random instants under traffic, and judges by " +
    "what is on their disks.",
  options: {
    rounds: ProgramOptions.wholeNumber("N", "how many strikes; 50 where it is left out", 1),
    seed: ProgramOptions.wholeNumber("S", "decides who is struck and when; a fresh one where it is left out"),
    services: ProgramOptions.oneOf("HOW", "Registry and Router in one process or two", ["together", "apart"]),
    ingress: ProgramOptions.flag(
      "two agents are reached by webhook, one of them through a firewall, and most strikes are theirs",
    ),
    "pause-seconds": ProgramOptions.wholeNumber(
      "N",
      "strikes are pauses of that length, and none are kills",
      1,
    ),
    power: ProgramOptions.flag(
      "every kill is a power cut: what the process had not synced to its disk is gone (Linux with a C compiler)",
    ),
    keep: ProgramOptions.flag("keeps every disk and log, also where nothing broke"),
  },
};
const { options } = ProgramOptions.take(program);
const seed = options.seed ?? ProgramOptions.freshSeed(1_000_000);
const { services } = options;
const pauseSeconds = options["pause-seconds"];
const plan = Plan.make({
  seed,
  rounds: options.rounds ?? 50,
  ingress: options.ingress,
  ...(services === undefined ? {} : { services }),
  ...(pauseSeconds === undefined ? {} : { pauseMs: pauseSeconds * 1_000 }),
});
const folder = mkdtempSync(join(tmpdir(), "social-harness-faults-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

say(`seed ${seed}: ${plan.strikes.length} rounds, services ${plan.services}, in ${folder}`);
const grid = options.power ? PowerCut.prepare(folder) : undefined;
if (grid !== undefined && "why" in grid) {
  rmSync(folder, { recursive: true });
  say(`power cannot be cut here: ${grid.why}; leave --power out, or run this on Linux with a C compiler`);
  process.exit(2);
}
const outcome = await run({ plan, folder, say, ...(grid === undefined ? {} : { grid }) });
const { faults, ...counts } = outcome;
say(JSON.stringify({ ok: faults.length === 0, seed, rounds: plan.strikes.length, ...counts }));
if (faults.length === 0 && !options.keep) rmSync(folder, { recursive: true, force: true });
else say(`everything is kept in ${folder}`);
for (const fault of faults) say(`BROKEN (seed ${seed}): ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
