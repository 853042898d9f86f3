// SIGKILL at random instants, on real processes: `node packages/testkit/src/faults/main.ts --rounds 50 --seed 7`. One line
// a round; at the end one line of counts, or the seed, what broke, and the folder that holds every disk and log.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import * as Plan from "./Plan.ts";
import { run } from "./Run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    seed: { type: "string" },
    services: { type: "string" },
    "pause-seconds": { type: "string" },
    keep: { type: "boolean", default: false },
  },
});

const naturalOf = (text: string, name: string): number => {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(`--${name} is a natural number`);
  return number;
};

const servicesOf = (text: string | undefined): Plan.Services | undefined => {
  if (text === undefined || text === "together" || text === "apart") return text;
  throw new RangeError("--services is together or apart");
};

const seed =
  values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : naturalOf(values.seed, "seed");
const services = servicesOf(values.services);
const pauseSeconds = values["pause-seconds"];
const plan = Plan.make({
  seed,
  rounds: naturalOf(values.rounds, "rounds"),
  ...(services === undefined ? {} : { services }),
  ...(pauseSeconds === undefined ? {} : { pauseMs: naturalOf(pauseSeconds, "pause-seconds") * 1_000 }),
});
const folder = mkdtempSync(join(tmpdir(), "social-harness-faults-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

say(`seed ${seed}: ${plan.strikes.length} rounds, services ${plan.services}, in ${folder}`);
const outcome = await run({ plan, folder, say });
const { faults, ...counts } = outcome;
say(JSON.stringify({ ok: faults.length === 0, seed, rounds: plan.strikes.length, ...counts }));
if (faults.length === 0 && !values.keep) rmSync(folder, { recursive: true, force: true });
else say(`everything is kept in ${folder}`);
for (const fault of faults) say(`BROKEN (seed ${seed}): ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
