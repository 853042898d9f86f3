// What a killed process left half put in place goes with the next start; what a living one is at is left to it.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished } from "vitest";
import * as Leftovers from "@social-harness/endpoint/state/Leftovers";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { verifies } from "@social-harness/testkit/Verifies";

verifies("RUN-240", "a name of a process that is gone is removed, and of one that lives it is not", () => {
  const path = mkdtempSync(join(tmpdir(), "social-harness-leftovers-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const folder = StateFolder.open(path);
  const before = readdirSync(path);
  const { pid: gone } = spawnSync(process.execPath, ["--version"]);
  const leave = (name: string): void => writeFileSync(join(path, name), "");
  const kept = [`identity.json.${process.ppid}.new`, "notes.new", `owner-token.0${gone}.new`];
  kept.forEach(leave);
  for (const pid of [gone, process.pid])
    ["identity.json", "owner-token"].forEach((name) => leave(`${name}.${pid}.new`));
  Leftovers.remove(folder);
  expect(readdirSync(path).sort()).toEqual([...before, ...kept].sort());
});
