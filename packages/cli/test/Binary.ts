// Runs the command line as users do, in a process of its own, and, where only words matter, in this process, which is
// thirty times faster. Whatever is started or made here is gone when the file's tests have ended.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, vi } from "vitest";
import { run as runProgram } from "../src/Program.ts";

export const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** What its stdin brings; a stream may go on for as long as it is read. */
  readonly input?: string | Uint8Array | Readable;
  readonly nodeOptions?: ReadonlyArray<string>;
  readonly entry?: string;
  /** Where it is given. */
  readonly cwd?: string;
  /** The network namespace that it runs in, where that is not this one. */
  readonly machine?: string;
}

const folders: Array<string> = [];
const running = new Set<ChildProcess>();

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-cli-"));
  folders.push(folder);
  return folder;
};

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once("exit", (code) => resolve(code)));

afterAll(async () => {
  for (const child of running) {
    child.kill("SIGKILL");
    await ended(child);
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const environment = (extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const clean = Object.entries(process.env).filter(
    ([name]) =>
      !name.startsWith("SOCIAL_HARNESS_") && !name.startsWith("NODE_") && !name.startsWith("VITEST"),
  );
  return { ...Object.fromEntries(clean), ...extra };
};

export const start = (
  args: ReadonlyArray<string>,
  { env = {}, nodeOptions = [], entry = main, machine, cwd }: RunOptions,
) => {
  // `ip netns exec` becomes the program that it starts: the pid is the program's.
  const within = machine === undefined ? [] : ["ip", "netns", "exec", machine];
  const [program = "", ...words] = [...within, process.execPath, ...nodeOptions, entry, ...args];
  const child = spawn(program, words, { env: environment(env), cwd });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
};

/** One command in a process of its own. */
export const run = (args: ReadonlyArray<string>, options: RunOptions = {}): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = start(args, options);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.on("error", () => {});
    if (options.input instanceof Readable) options.input.pipe(child.stdin);
    else child.stdin.end(options.input ?? "");
  });

/** The same command line without a process. One at a time: stdout and stderr are this process's. */
export const runHere = async (args: ReadonlyArray<string>): Promise<Ended> => {
  let stdout = "";
  let stderr = "";
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  const err = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  try {
    const code = await runProgram(args);
    return { code, stdout, stderr };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
};

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

export interface Served {
  readonly pid: number;
  /** The JSON of its ready line. */
  readonly ready: Record<string, unknown>;
  /** What it has printed since. */
  readonly lines: ReadonlyArray<string>;
  /** SIGTERM unless told otherwise; resolves with the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts a command that serves and waits for its first line. */
export const serve = async (args: ReadonlyArray<string>, options: RunOptions = {}): Promise<Served> => {
  const child = start(args, options);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const lines: Array<string> = [];
  const first = new Promise<string>((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      resolve(line);
    });
  });
  const line = await Promise.race([first, ended(child).then(() => null)]);
  if (line === null) throw new Error(`it ended before it was ready: ${stderr}`);
  return {
    pid: child.pid as number,
    ready: JSON.parse(line) as Record<string, unknown>,
    lines,
    stop: async (signal = "SIGTERM") => {
      child.kill(signal);
      return ended(child);
    },
  };
};
