// Power cuts at random instants, on real processes under traffic, and what a cut does to the files of one small process.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import * as Plan from "@social-harness/testkit/faults/Plan";
import * as Process from "@social-harness/testkit/faults/Process";
import { run } from "@social-harness/testkit/faults/Run";
import * as PowerCut from "@social-harness/testkit/storage/PowerCut";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

/** Each line is one that a synced file or folder has, or one that was never synced. */
const program = `
import * as fs from "node:fs";
const [folder] = process.argv.slice(2);
const at = (name) => folder + "/" + name;
const sync = (path) => { const fd = fs.openSync(path, "r"); fs.fsyncSync(fd); fs.closeSync(fd); };
fs.writeFileSync(at("kept"), "synced");
for (const name of ["erased", "moved", "removed", "replaced"]) fs.writeFileSync(at(name), name);
for (const name of ["erased", "kept", "moved", "removed", "replaced"]) sync(at(name));
sync(folder);
fs.appendFileSync(at("kept"), " and not synced");
fs.writeFileSync(at("new"), "its folder was not synced");
sync(at("new"));
fs.renameSync(at("moved"), at("elsewhere"));
fs.unlinkSync(at("removed"));
fs.rmSync(at("erased"));
fs.renameSync(at("new"), at("replaced"));
fs.writeFileSync(at("kept"), "other");
console.log("{}");
process.kill(process.pid, "SIGKILL");
`;

verifies(
  "RUN-210",
  "a cut gives each file its last synced bytes, and each folder its last synced names",
  async ({ skip }) => {
    const scratch = Town.temporaryFolder();
    const grid = PowerCut.prepare(scratch);
    if ("why" in grid) return skip(grid.why);
    const folder = join(scratch, "disk");
    mkdirSync(folder);
    writeFileSync(join(scratch, "program.mjs"), program);
    const allOfIt = { ...Plan.randomOf(0, "power"), chance: () => true };
    const { environment, cut } = grid("disk", folder, allOfIt);
    const killed = Process.start(
      join(scratch, "program.mjs"),
      [folder],
      join(scratch, "stderr"),
      environment,
    );
    expect(await killed.ended).toBe("SIGKILL");
    expect(readFileSync(join(folder, "kept"), "utf8")).toBe("other");
    expect(cut()).toBeGreaterThan(6);
    const files = readdirSync(folder).sort();
    expect(files.map((name) => [name, readFileSync(join(folder, name), "utf8")])).toEqual([
      ["erased", "erased"],
      ["kept", "synced"],
      ["moved", "moved"],
      ["removed", "removed"],
      ["replaced", "replaced"],
    ]);
    expect(cut(), "nothing is undone twice").toBe(0);
  },
);

verifies(
  ["RUN-211", "RUN-212"],
  "power cuts at random instants lose nothing that was acknowledged, certified, voted or registered",
  async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), "social-harness-power-"));
    const grid = PowerCut.prepare(folder);
    if ("why" in grid) {
      rmSync(folder, { recursive: true });
      return skip(grid.why);
    }
    const plan = Plan.make({ seed: Math.floor(Math.random() * 1_000_000), rounds: 5 });
    const say = (line: string): void => void process.stdout.write(`${line}\n`);
    say(`power cuts: seed ${plan.seed}, services ${plan.services}, in ${folder}`);
    const { faults, items, posts, recordsVerified, dropped } = await run({ plan, folder, say, grid });
    expect(faults, `seed ${plan.seed}; everything is kept in ${folder}`).toEqual([]);
    expect(items + posts).toBe(recordsVerified);
    expect(dropped, "something was not synced").toBeGreaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  },
  600_000,
);
