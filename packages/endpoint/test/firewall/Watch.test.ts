// What counts as a change of one file, and what does not yet.

import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { describe, expect, onTestFinished } from "vitest";
import * as Watch from "../../src/firewall/Watch.ts";

const watched = (absentMs: number) => {
  const folder = temporaryFolder();
  const path = join(folder, "watched.json");
  const write = (text: string): void => writeFileSync(path, text, { mode: 0o600 });
  write("first");
  const told: Array<Watch.Content> = [];
  const content = Watch.read(path);
  const onChange = (now: Watch.Content): void => void told.push(now);
  const end = Watch.start({ path, content, onChange, watchMs: 1, settledMs: 1, absentMs });
  onTestFinished(end);
  return { folder, path, write, told, end };
};

verifies("ING-243", "a file that is replaced again and again is never away", async () => {
  const { path, write, told } = watched(100);
  for (let i = 0; i < 150; i++) {
    // Nobody sees it while it is there.
    write(`${i}`);
    rmSync(path);
    await setTimeout(5);
  }
  expect(told).toEqual([]);
  await until("it is away", () => told.length > 0);
  expect(told).toEqual([{ kind: "absent" }]);
});

verifies("ING-243", "a file that is back within its time was never away", async () => {
  const { path, write, told } = watched(600_000);
  rmSync(path);
  await setTimeout(50);
  write("second");
  await until("it is back", () => told.length > 0);
  expect(told).toEqual([{ kind: "text", text: "second" }]);
});

verifies("ING-243", "nothing is told after the end", async () => {
  for (let i = 0; i < 20; i++) {
    const { write, told, end } = watched(1);
    write("second");
    await setTimeout(i % 5);
    end();
    const before = told.length;
    await setTimeout(5);
    expect(told.length).toBe(before);
  }
});

describe.skipIf(process.platform === "win32")("a place", () => {
  verifies("ING-244", "that holds no file of text is unreadable, and not empty", async () => {
    const { folder, path, write, told } = watched(1);
    const place = join(folder, "elsewhere");
    const ways: ReadonlyArray<readonly [() => void, RegExp]> = [
      [() => symlinkSync(place, path), /is a link that leads nowhere/],
      [() => execFileSync("mkfifo", ["-m", "600", path]), /is no ordinary file/],
      [() => mkdirSync(path, { mode: 0o700 }), /is no ordinary file/],
      [() => writeFileSync(path, Buffer.from([0x22, 0xfc, 0x22]), { mode: 0o600 }), /is not UTF-8/],
    ];
    for (const [make, explanation] of ways) {
      told.length = 0;
      rmSync(path, { force: true, recursive: true });
      await until("it is away", () => told.length === 1);
      make();
      await until("something is there", () => told.length === 2);
      expect(told).toEqual([
        { kind: "absent" },
        { kind: "unreadable", explanation: expect.stringMatching(explanation) as unknown },
      ]);
    }
    rmSync(path);
    // A link to a file is as good as the file; its target that goes away is not absence.
    write("first");
    renameSync(path, place);
    symlinkSync(place, path);
    await until("the link is followed", () => told.at(-1)?.kind === "text");
    rmSync(place);
    await until("the target is missed", () => told.at(-1)?.kind === "unreadable");
  });
});
