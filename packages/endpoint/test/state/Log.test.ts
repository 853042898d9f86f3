import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, beforeEach, expect } from "vitest";
import * as Log from "../../src/state/Log.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "social-harness-log-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const at = Date.parse("2026-11-30T12:00:00Z");
const openLog = (options: Partial<Log.LogOptions> = {}): Log.Log =>
  Log.open({ folder: join(root, "logs"), level: "info", clock: () => at, ...options });
const textOf = (name = "endpoint.log"): string => readFileSync(join(root, "logs", name), "utf8");
const linesOf = (name?: string): ReadonlyArray<Record<string, unknown>> =>
  textOf(name)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

verifies("RUN-25", "a line is one JSON object with time, level and event", () => {
  const log = openLog();
  log.write("info", "daemon ready", { port: 7_431, note: "two\nlines" });
  log.write("debug", "not at this level");
  log.write("error", "it broke");
  log.close();
  expect(linesOf()).toEqual([
    {
      time: "2026-11-30T12:00:00.000Z",
      level: "info",
      event: "daemon ready",
      port: 7_431,
      note: "two\nlines",
    },
    { time: "2026-11-30T12:00:00.000Z", level: "error", event: "it broke" },
  ]);
  expect(statSync(join(root, "logs", "endpoint.log")).mode & 0o777).toBe(0o600);
});

verifies("RUN-25", "C76: what has the shape of a secret, or is one that rotated, is struck out", () => {
  let token = "owner-token-number-one-owner-token-1";
  const log = openLog({ level: "debug", secrets: () => [token] });
  const planted = [
    `Bearer ${"t".repeat(40)}`,
    `whsec_${"c2VjcmV0".repeat(4)}`,
    `shn1_${"x".repeat(80)}`,
    `adm_${"y".repeat(43)}`,
  ];
  for (const secret of planted) log.write("debug", "a call failed", { message: `said ${secret}, then left` });
  log.write("warn", `event with ${token}`, { message: `${token}${token}` });
  token = "owner-token-number-two-owner-token-2";
  log.write("warn", "rotated", { message: token });
  log.close();
  for (const secret of [...planted, "owner-token-number"]) {
    expect(textOf()).not.toContain(secret.replace("Bearer ", ""));
  }
  expect(linesOf()[0]?.message).toBe("said [redacted], then left");
});

verifies("RUN-25", "a line is written although its secrets cannot be read", () => {
  const log = openLog({
    secrets: () => {
      throw new Error("the token file is gone");
    },
  });
  log.write("warn", "the owner token cannot be read");
  log.close();
  expect(linesOf().map(({ event }) => event)).toEqual(["the owner token cannot be read"]);
});

verifies("RUN-25", "files rotate by size, the oldest goes, and no line is cut", () => {
  const log = openLog({ fileBytesMax: 1_000, olderFilesMax: 2 });
  for (let i = 0; i < 60; i++) log.write("info", "line", { i });
  log.close();
  expect(readdirSync(join(root, "logs")).toSorted()).toEqual([
    "endpoint.1.log",
    "endpoint.2.log",
    "endpoint.log",
  ]);
  const numbers = ["endpoint.2.log", "endpoint.1.log", "endpoint.log"].flatMap((name) =>
    linesOf(name).map(({ i }) => i as number),
  );
  expect(numbers).toEqual(Array.from(numbers, (_, i) => 60 - numbers.length + i));
  for (const name of readdirSync(join(root, "logs"))) {
    expect(statSync(join(root, "logs", name)).size).toBeLessThanOrEqual(1_000);
  }
});

verifies("RUN-25", "a log goes on where the last process stopped", () => {
  for (let i = 0; i < 2; i++) {
    const log = openLog();
    log.write("info", `start ${i}`);
    log.close();
  }
  expect(linesOf().map(({ event }) => event)).toEqual(["start 0", "start 1"]);
});

verifies(["RUN-25", "RUN-116"], "a log that cannot be written stops nothing and says it all later", () => {
  writeFileSync(join(root, "logs"), "in the way");
  const log = openLog();
  for (let number = 0; number < 66; number++) log.write("info", `kept ${number}`);
  rmSync(join(root, "logs"));
  log.write("info", "back");
  log.write("info", "and on");
  log.close();
  const said = linesOf().map(({ event, linesLost }) => [event, linesLost]);
  expect(said.slice(0, 64)).toEqual(Array.from({ length: 64 }, (_, number) => [`kept ${number}`, undefined]));
  expect(said.slice(64)).toEqual([
    ["back", 2],
    ["and on", undefined],
  ]);
  chmodSync(join(root, "logs"), 0o700);
});

verifies(
  ["RUN-322", "RUN-116"],
  "a folder that was moved away is not made again, and the log goes on when it is back",
  () => {
    const [state, away] = [join(root, "state"), join(root, "away")];
    mkdirSync(state);
    const log = Log.open({ folder: join(state, "logs"), level: "info", clock: () => at });
    log.write("info", "before");
    renameSync(state, away);
    log.write("error", "while it was away");
    expect(readdirSync(root)).toEqual(["away"]);
    renameSync(away, state);
    log.write("info", "after");
    log.close();
    const lines = readFileSync(join(state, "logs", "endpoint.log"), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
      "before",
      "while it was away",
      "after",
    ]);
  },
);

verifies("RUN-116", "half of a line that the disk took stays no part of the log", () => {
  const writer = fileURLToPath(new URL("./LogWriter.ts", import.meta.url));
  const bytesMax = 4_096;
  const words = [
    `ulimit -f ${bytesMax / 512}; exec "$@"`,
    "sh",
    process.execPath,
    writer,
    join(root, "logs"),
  ];
  execFileSync("/bin/sh", ["-c", ...words], { env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" } });
  expect(textOf().endsWith("\n")).toBe(true);
  const lines = linesOf();
  expect(lines.map(({ event }) => event)).toEqual(lines.map((_, number) => `line ${number}`));
  // No line is left out that has room: the next one would have been cut.
  expect(statSync(join(root, "logs", "endpoint.log")).size).toBeGreaterThan(bytesMax - 150);
});

verifies("RUN-25", "an error's text is kept, and cut when it is long", () => {
  const log = openLog();
  log.write("error", "it broke", Log.causeOf(new RangeError("x".repeat(5_000))));
  log.write("error", "it broke", Log.causeOf("a thrown string may hold anything"));
  log.close();
  const [first, second] = linesOf();
  expect(first?.error).toBe("RangeError");
  expect(String(first?.message).length).toBe(2_003);
  expect(second?.message).toBe("string");
});

verifies(
  "RUN-331",
  "what is no file in the place of the log holds nobody up, and the log goes on after it",
  () => {
    const path = join(root, "logs", "endpoint.log");
    mkdirSync(join(root, "logs"));
    execFileSync("mkfifo", [path]);
    const log = openLog();
    log.write("info", "into a pipe that nobody reads");
    rmSync(path);
    mkdirSync(path);
    log.write("info", "into a folder");
    rmSync(path, { recursive: true });
    log.write("info", "into a file");
    log.close();
    expect(linesOf().map(({ event }) => event)).toEqual([
      "into a pipe that nobody reads",
      "into a folder",
      "into a file",
    ]);
  },
);

verifies("RUN-331", "a file that was deleted or moved away is begun anew", () => {
  const path = join(root, "logs", "endpoint.log");
  const log = openLog();
  log.write("info", "before");
  rmSync(path);
  log.write("info", "after it was deleted");
  renameSync(path, join(root, "elsewhere"));
  log.write("info", "after it was moved");
  log.close();
  expect(linesOf().map(({ event }) => event)).toEqual(["after it was moved"]);
  expect(readFileSync(join(root, "elsewhere"), "utf8")).toContain("after it was deleted");
});

verifies(
  "RUN-331",
  "a file that can become no older one keeps its bound, and what it has no room for is counted",
  () => {
    for (const name of ["endpoint.1.log", "endpoint.2.log"])
      mkdirSync(join(root, "logs", name, "in the way"), { recursive: true });
    const log = openLog({ fileBytesMax: 1_000, olderFilesMax: 2 });
    for (let i = 0; i < 200; i++) log.write("info", "line", { i });
    expect(textOf().length).toBeLessThanOrEqual(1_000);
    for (const name of ["endpoint.1.log", "endpoint.2.log"])
      rmSync(join(root, "logs", name), { recursive: true });
    log.write("info", "back");
    log.close();
    const said = ["endpoint.2.log", "endpoint.1.log", "endpoint.log"].flatMap((name) => linesOf(name));
    expect(said.at(-1)).toMatchObject({ event: "back", linesLost: expect.any(Number) as number });
  },
);
