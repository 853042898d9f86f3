// `npm run faults`: SIGKILL at random instants, on real processes. One line a round; at the end one line of counts, or the
// seed, what broke, and the folder that holds every disk and log. With `--steps`: SIGKILL at every step of one process.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as ProgramOptions from "../ProgramOptions.ts";
import { phases } from "../steps/Phases.ts";
import * as AllSteps from "../steps/AllSteps.ts";
import * as FaultyDisk from "../storage/FaultyDisk.ts";
import * as PowerCut from "../storage/PowerCut.ts";
import * as Plan from "./Plan.ts";
import { run } from "./Run.ts";

const program = {
  command: "npm run faults",
  about:
    "Kills and pauses the real processes of a network and its endpoints at random instants under traffic, or one endpoint " +
    "at each of its steps, and judges by what is on their disks.",
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
    steps: ProgramOptions.flag(
      "one daemon is killed right before each of its calls that change a file, in its starts, its turns and its stop; " +
        "only --phase and --keep go with it (Linux with a C compiler)",
    ),
    phase: ProgramOptions.someOf(
      "NAME",
      `with --steps, this phase; all where none is named: ${phases.map(({ name }) => name).join(", ")}`,
      phases.map(({ name }) => name),
    ),
    keep: ProgramOptions.flag("keeps every disk and log, also where nothing broke"),
  },
};
const { options } = ProgramOptions.take(program);
const { phase, steps, keep: _keep, ...atRandom } = options;
const isDrawn = Object.values(atRandom).some((value) => value !== undefined && value !== false);
if (phase.length > 0 && !steps) ProgramOptions.refuse(program, "--phase goes with --steps");
if (steps && isDrawn) ProgramOptions.refuse(program, "beside --steps there are --phase and --keep alone");

const folder = mkdtempSync(join(tmpdir(), "social-harness-faults-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const finish = (isWell: boolean): void => {
  if (isWell && !options.keep) rmSync(folder, { recursive: true, force: true });
  else say(`everything is kept in ${folder}`);
  process.exitCode = isWell ? 0 : 1;
};

/** What takes Linux and a C compiler, or the end of this process where they are not. */
const demand = <A extends object>(prepared: A | { readonly why: string }, what: string): A => {
  if (!("why" in prepared)) return prepared;
  rmSync(folder, { recursive: true });
  say(`${what}: ${prepared.why}; run this on Linux with a C compiler, or without that option`);
  process.exit(2);
};

const strikeAtRandom = async (): Promise<void> => {
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
  say(`seed ${seed}: ${plan.strikes.length} rounds, services ${plan.services}, in ${folder}`);
  const grid = options.power ? demand(PowerCut.prepare(folder), "power cannot be cut here") : undefined;
  const outcome = await run({ plan, folder, say, ...(grid === undefined ? {} : { grid }) });
  const { faults, ...counts } = outcome;
  say(JSON.stringify({ ok: faults.length === 0, seed, rounds: plan.strikes.length, ...counts }));
  finish(faults.length === 0);
  for (const fault of faults) say(`BROKEN (seed ${seed}): ${fault}`);
};

const strikeAtSteps = async (): Promise<void> => {
  const disk = demand(FaultyDisk.prepare(folder), "steps cannot be counted here");
  say(`every step of ${options.phase.length === 0 ? "every phase" : options.phase.join(", ")}, in ${folder}`);
  finish(await AllSteps.run({ disk, folder, only: options.phase, say }));
};

await (options.steps ? strikeAtSteps() : strikeAtRandom());
