import { execFileSync } from "node:child_process";
import { appendFileSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect } from "vitest";
import * as Log from "../../src/state/Log.ts";
import * as LogFiles from "../../src/state/LogFiles.ts";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "social-harness-logs-")), "logs");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

const openLog = (fileBytesMax: number): Log.Log =>
  Log.open({ folder, level: "debug", clock: () => 0, fileBytesMax });
const numbersOf = ({ lines }: LogFiles.Lines): ReadonlyArray<unknown> => lines.map(({ i }) => i);
const all = (): boolean => true;

verifies("RUN-147", "the last lines come from as many files as needed, whatever their level", () => {
  expect(LogFiles.open(folder).last(5, all)).toEqual({ lines: [], unreadable: 0 });
  const log = openLog(500);
  for (let i = 0; i < 20; i++) log.write(i % 5 === 0 ? "warn" : "debug", "line", { i });
  expect(numbersOf(LogFiles.open(folder).last(9, all))).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19]);
  expect(numbersOf(LogFiles.open(folder).last(3, ({ level }) => level === "warn"))).toEqual([5, 10, 15]);
  log.close();
});

verifies("RUN-148", "a follower sees each line once and in order over rotations", () => {
  const log = openLog(400);
  log.write("info", "before", { i: -1 });
  const reader = LogFiles.open(folder);
  expect(numbersOf(reader.last(10, all))).toEqual([-1]);
  const seen: Array<unknown> = [];
  let written = 0;
  // From none to a dozen lines, which is up to four files, between two looks.
  for (let burst = 0; burst < 40; burst++) {
    for (let i = 0; i < burst % 13; i++) log.write("info", "line", { i: written++ });
    for (let looks = 0; looks < 2; looks++) seen.push(...numbersOf(reader.more()));
  }
  log.close();
  expect(seen).toEqual(Array.from({ length: written }, (_, i) => i));
});

verifies("RUN-148", "a follower that comes before the first line, or falls far behind, goes on", () => {
  const reader = LogFiles.open(folder);
  expect(reader.last(10, all).lines).toEqual([]);
  expect(reader.more().lines).toEqual([]);
  const log = openLog(200);
  log.write("info", "line", { i: 0 });
  expect(numbersOf(reader.more())).toEqual([0]);
  for (let i = 1; i < 100; i++) log.write("info", "line", { i });
  const late = [...numbersOf(reader.more()), ...numbersOf(reader.more())];
  expect(late.at(-1)).toBe(99);
  expect(late).toEqual(Array.from(late, (_, i) => 100 - late.length + i));
  log.close();
});

verifies("RUN-147", "a file that moved on between two looks is read once", () => {
  const log = openLog(10_000);
  for (let i = 0; i < 3; i++) log.write("info", "line", { i });
  log.close();
  // As a rotation leaves it that is seen under its old name first and under its new one then.
  linkSync(join(folder, LogFiles.nameOf(0)), join(folder, LogFiles.nameOf(1)));
  expect(numbersOf(LogFiles.open(folder).last(9, all))).toEqual([0, 1, 2]);
});

verifies("RUN-147", "half a line waits for its end, and a broken one is counted", () => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, LogFiles.nameOf(0));
  const line = (i: number): string => JSON.stringify({ time: "t", level: "info", event: "e", i });
  writeFileSync(file, `${line(1)}\n{"time":"t","lev\n[]\n${line(2)}\n${line(3).slice(0, 20)}`);
  const reader = LogFiles.open(folder);
  const last = reader.last(10, all);
  expect([numbersOf(last), last.unreadable]).toEqual([[1, 2], 2]);
  expect(reader.more().lines).toEqual([]);
  appendFileSync(file, `${line(3).slice(20)}\n`);
  expect(numbersOf(reader.more())).toEqual([3]);
});

verifies("RUN-331", "a reader says what stands in the place of the log, and waits for nobody", () => {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, LogFiles.nameOf(0));
  execFileSync("mkfifo", [path]);
  expect(() => LogFiles.open(folder).last(5, all)).toThrow(/is no file: move away/);
  rmSync(path);
  mkdirSync(path);
  expect(() => LogFiles.open(folder).last(5, all)).toThrow(/is no file: move away/);
});
