// A daemon that ends as by SIGKILL right before some of its calls that change a file, in each phase of its life: other ones
// in each run, so that all have their turn. `npm run faults -- --steps` does the same at every one of them.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import * as Endpoint from "@social-harness/testkit/faults/Endpoint";
import * as Process from "@social-harness/testkit/faults/Process";
import { startNetwork } from "@social-harness/testkit/network/Network";
import { type Phase, phases } from "@social-harness/testkit/steps/Phases";
import * as Steps from "@social-harness/testkit/steps/Steps";
import * as FaultyDisk from "@social-harness/testkit/storage/FaultyDisk";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

/** A bound for what hangs: on a quiet machine a phase takes a few seconds. */
const msMax = 300_000;

const killsPerPhase = 2;
/** Enough for so few courses; each of them speaks with another pair of these. */
const peersMax = 5;

/** Evenly over all steps, from a place that is another one in each run. */
const some = (steps: number): ReadonlyArray<number> => {
  const stride = steps / killsPerPhase;
  const first = Math.random() * stride;
  return Array.from({ length: killsPerPhase }, (_, index) => Math.floor(first + index * stride));
};

const phaseOf = (name: string): Phase => {
  const phase = phases.find((one) => one.name === name);
  if (phase === undefined) throw new RangeError(`there is no phase ${name}`);
  return phase;
};

const goesOn =
  (...names: ReadonlyArray<string>) =>
  async ({ skip }: TestContext): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "social-harness-steps-"));
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) {
      rmSync(folder, { recursive: true });
      return skip(disk.why);
    }
    const network = await startNetwork({ folder });
    onTestFinished(async () => {
      Process.endAll();
      await network.close();
    });
    for (const name of names) {
      const phase = phaseOf(name);
      const chosen: Array<number> = [];
      const choose = (steps: number): ReadonlyArray<number> => {
        chosen.push(...some(steps));
        return chosen;
      };
      const few = { ...phase, peers: Math.min(phase.peers, peersMax) };
      const { problems, killed } = await Steps.run({ phase: few, network, disk, folder, choose });
      const where = `${name}, killed after ${chosen.join(" and ")} steps; everything is kept in ${folder}`;
      expect(problems, where).toEqual([]);
      expect(killed, where).toBeGreaterThan(0);
    }
    rmSync(folder, { recursive: true, force: true });
  };

/** More steps than a start has: the test ends with the first start that is not killed. */
const stepsMax = 400;
/** The first ones, which make the lock, one by one; of the many that make the tokens and the store, some. */
const closeSteps = 8;
const strideAt = (step: number): number => (step < closeSteps ? 1 : 29);

verifies(
  "RUN-120",
  "C54 first starts that are killed before one step after another, each on what the last one left, end with one that is ready",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) return skip(disk.why);
    const { description } = (await Town.create(folder)).network;
    const { state, resident } = Endpoint.found({
      name: "ann",
      folder,
      network: description,
      prepare: null,
      environment: disk.environment(folder),
      onUnexpectedEnd: () => undefined,
    });
    let steps = 0;
    for (; steps < stepsMax; steps += strideAt(steps)) {
      disk.fail({ which: "changes", by: "SIGKILL", after: steps });
      if (await resident.start()) break;
      await resident.kill();
    }
    disk.heal();
    expect(steps, "the start has steps").toBeGreaterThan(10);
    expect(steps, "and an end").toBeLessThan(stepsMax);
    expect(await resident.stop(20_000)).toBe(true);
    // Nothing of the killed ones is in the way, nor lies about.
    expect(readdirSync(state).filter((name) => name.endsWith(".new"))).toEqual([]);
    expect(await resident.start()).toBe(true);
    expect(await resident.stop(20_000)).toBe(true);
  },
  msMax,
);

verifies(
  "RUN-240",
  "C54 an endpoint that is killed at a step of a start, the first one, its registration or a later one, starts and goes on",
  goesOn("first-start", "registration", "start", "start-after-kill"),
  msMax,
);

verifies(
  "RUN-241",
  "a post whose author is killed at a step of it, the first of a group too, is there once when its call is repeated",
  goesOn("send", "send-group", "genesis"),
  msMax,
);

verifies(
  ["RUN-126", "RUN-242"],
  "C52 an endpoint that is killed between a delivery and its commit gets it again, and no vote of it is out",
  goesOn("receive", "receive-group", "invited"),
  msMax,
);

verifies(
  "RUN-243",
  "an acknowledgment that is killed at a step of it is there when it was answered or repeated",
  goesOn("acknowledge"),
  msMax,
);

verifies(
  "RUN-244",
  "a hold, its release and its discard are whole or not at all",
  goesOn("hold", "release", "discard"),
  msMax,
);

verifies(
  "RUN-245",
  "a stop that is killed at a step of it leaves a store that goes on",
  goesOn("stop"),
  msMax,
);

test(
  "what was lost is told, and after which step",
  async ({ skip }) => {
    const folder = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(folder);
    if ("why" in disk) return skip(disk.why);
    const network = await startNetwork({ folder });
    onTestFinished(() => network.close());
    const receive = phaseOf("receive");
    const lossy: Phase = {
      ...receive,
      act: async (scene, number) => {
        const isDone = await receive.act(scene, number);
        // The first course is undisturbed.
        if (number === 0) return isDone;
        const db = new DatabaseSync(scene.victim.database, { timeout: 10_000 });
        db.exec("DELETE FROM own_vote WHERE rowid = (SELECT max(rowid) FROM own_vote)");
        db.close();
        return isDone;
      },
    };
    const { problems, killed } = await Steps.run({
      phase: lossy,
      network,
      disk,
      folder,
      choose: () => [7, 8],
    });
    expect(problems[0]).toMatch(/^before step 8, with the last step pwrite64 .*endpoint\.sqlite-wal$/);
    expect(problems.join("\n")).toContain("that receive does not hold");
    expect(killed, "and the phase ends there").toBe(1);
  },
  msMax,
);

/** Every kind of change once, and a read, a look and an open that change nothing. */
const program = `
import * as fs from "node:fs";
const [folder] = process.argv.slice(2);
const at = (name) => folder + "/" + name;
fs.mkdirSync(at("made"));
fs.writeFileSync(at("written"), "a");
fs.readFileSync(at("written"));
const fd = fs.openSync(at("written"), "r+");
fs.writeSync(fd, "b", 1);
fs.fsyncSync(fd);
fs.fdatasyncSync(fd);
fs.ftruncateSync(fd, 1);
fs.closeSync(fd);
fs.renameSync(at("written"), at("renamed"));
fs.linkSync(at("renamed"), at("linked"));
fs.closeSync(fs.openSync(at("renamed"), "w"));
fs.unlinkSync(at("linked"));
fs.writeFileSync(at("gone"), "");
fs.rmSync(at("gone"));
try {
  fs.openSync(at("renamed"), "wx");
} catch {
  // It is there already, and stays as it is.
}
fs.rmdirSync(at("made"));
console.log("{}");
`;

const ofProgram = [
  "mkdir ./made",
  "open64 ./written",
  "write ./written",
  "pwrite64 ./written",
  "fsync ./written",
  "fdatasync ./written",
  "ftruncate64 ./written",
  "rename ./written",
  "link ./renamed",
  "open64 ./renamed",
  "unlink ./linked",
  "open64 ./gone",
  "remove ./gone",
  "rmdir ./made",
];

verifies(
  "RUN-246",
  "every call of a process that changes a file or a folder is a step, and a kill at one comes before what it does",
  async ({ skip }) => {
    const scratch = Town.temporaryFolder();
    const disk = FaultyDisk.prepare(scratch);
    if ("why" in disk) return skip(disk.why);
    writeFileSync(join(scratch, "program.mjs"), program);
    const perform = async (name: string, prepare: () => void) => {
      const folder = join(scratch, name);
      mkdirSync(folder);
      prepare();
      const started = Process.start(
        join(scratch, "program.mjs"),
        [folder],
        join(scratch, "stderr"),
        disk.environment(folder),
      );
      const ended = await started.ended;
      const steps = disk.steps().map(({ call, path }) => `${call} ${path}`);
      return { ended, steps, left: readdirSync(folder) };
    };
    expect(await perform("undisturbed", disk.watch)).toMatchObject({ ended: 0, steps: ofProgram });
    for (const [after, step] of ofProgram.entries()) {
      const { ended, steps, left } = await perform(String(after), () =>
        disk.fail({ which: "changes", by: "SIGKILL", after }),
      );
      expect([ended, steps], step).toEqual(["SIGKILL", ofProgram.slice(0, after + 1)]);
      expect(left.includes("renamed"), step).toBe(after > ofProgram.indexOf("rename ./written"));
      expect(left.includes("made"), step).toBe(after > 0);
    }
  },
);
