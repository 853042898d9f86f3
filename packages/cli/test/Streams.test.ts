// Commands whose outputs cannot be written: a daemon outlives them, any other command ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { main } from "./Binary.ts";
import { data, joined, root } from "./Town.ts";

const state = join(root, "ada");

beforeAll(async () => {
  await joined(state, "ada-agent");
  // Each start remarks on it.
  writeFileSync(join(state, "runtime-token"), "too short", { mode: 0o600 });
});

/** `gone`: a pipe whose reader has left. */
type Place = "gone" | "/dev/full" | "ignore";

const started = (args: ReadonlyArray<string>, stdout: Place, stderr: Place) => {
  const opened: Array<number> = [];
  const place = (of: Place): number | "ignore" | "pipe" => {
    if (of === "gone") return "pipe";
    if (of === "ignore") return of;
    const descriptor = openSync(of, "w");
    opened.push(descriptor);
    return descriptor;
  };
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ["ignore", place(stdout), place(stderr)],
  });
  child.stdout?.destroy();
  child.stderr?.destroy();
  for (const descriptor of opened) closeSync(descriptor);
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
};

const endpointFile = join(state, "endpoint.json");

verifies(
  "RUN-330",
  "a daemon serves and stops as ever without anybody to read it, and with a full disk behind its outputs",
  async () => {
    const places: ReadonlyArray<readonly [Place, Place]> = [
      ["ignore", "gone"],
      ["ignore", "/dev/full"],
      ["gone", "ignore"],
      ["/dev/full", "/dev/full"],
    ];
    for (const [stdout, stderr] of places) {
      const child = started(
        ["daemon", "--state", state, "--port", "0", "--mode", "credentials"],
        stdout,
        stderr,
      );
      const ended = once(child, "exit");
      while (!existsSync(endpointFile) && child.exitCode === null) await sleep(20);
      const { mcpUrl } = JSON.parse(readFileSync(endpointFile, "utf8")) as { readonly mcpUrl: string };
      const authorization = `Bearer ${readFileSync(join(state, "owner-token"), "utf8").trim()}`;
      const answer = await fetch(new URL("/healthz", mcpUrl), { headers: { authorization } });
      expect([stdout, stderr, answer.status]).toEqual([stdout, stderr, 200]);
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
      expect(existsSync(endpointFile)).toBe(false);
    }
  },
  120_000,
);

verifies(
  "RUN-330",
  "a command whose result finds no room fails, and one whose reader has left does not",
  async () => {
    const show = ["network", "show", "--data", data];
    expect(await once(started(show, "/dev/full", "ignore"), "exit")).toEqual([1, null]);
    expect(await once(started(show, "gone", "ignore"), "exit")).toEqual([0, null]);
  },
  60_000,
);
