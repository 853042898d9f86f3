// Runs the real binary as a process of its own, as users do.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const environment = (extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const clean = Object.entries(process.env).filter(
    ([name]) =>
      !name.startsWith("SOCIAL_HARNESS_") && !name.startsWith("NODE_") && !name.startsWith("VITEST"),
  );
  return { ...Object.fromEntries(clean), ...extra };
};

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly nodeOptions?: ReadonlyArray<string>;
  readonly entry?: string;
}

export const run = (
  args: ReadonlyArray<string>,
  { env = {}, input, nodeOptions = [], entry = main }: RunOptions = {},
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...nodeOptions, entry, ...args], { env: environment(env) });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(input ?? "");
  });

/** The one JSON object that stands last on stdout. */
export const lastJson = ({ stdout, stderr }: Ended): Record<string, unknown> => {
  const line = stdout.trimEnd().split("\n").at(-1);
  if (line === undefined || line === "") throw new Error(`nothing on stdout; stderr: ${stderr}`);
  return JSON.parse(line) as Record<string, unknown>;
};

export interface Failed {
  readonly error: { readonly reason: string; readonly message: string; readonly next: string };
}
export const failureOf = ({ stderr }: Ended): Failed["error"] => (JSON.parse(stderr) as Failed).error;

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

export interface Served {
  readonly ready: Record<string, unknown>;
  readonly pid: number;
  /** SIGTERM unless told otherwise; resolves with the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts a command that serves, waits for its first line, and ends it with the test. */
export const serve = async (args: ReadonlyArray<string>): Promise<Served> => {
  const child = spawn(process.execPath, [main, ...args], {
    env: environment({}),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => {
    await stop("SIGKILL");
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve)),
    ended.then(() => null),
  ]);
  if (line === null) throw new Error(`it ended before it was ready: ${stderr}`);
  return { ready: JSON.parse(line) as Record<string, unknown>, pid: child.pid as number, stop };
};
