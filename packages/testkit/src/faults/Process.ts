// One operating-system process of this repository: started, heard until its ready line, struck by signals through its pid,
// and never left behind. It holds one end of an IPC channel and stops when that closes, so it ends even when this process
// is killed. Knows nothing of what it runs.

import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

export interface Process {
  readonly pid: number;
  /** The JSON object of its first line on stdout, or null when it ended before it. */
  readonly ready: Promise<unknown>;
  /** How it ended: its exit code, or the signal's name. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly signal: (signal: NodeJS.Signals) => void;
}

const alive = new Set<ChildProcess>();
/** SIGKILL for every process that was started here and still lives. */
export const endAll = (): void => {
  for (const child of alive) child.kill("SIGKILL");
};
process.on("exit", endAll);

/** The settings of whoever runs this are not those of the processes under test. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SOCIAL_HARNESS_|NODE_|VITEST)/.test(name)),
  );

export type Environment = Readonly<Record<string, string>>;

/** Starts a source file with Node. What it says on stderr is added to the file `log`. */
export const start = (
  file: string,
  args: ReadonlyArray<string>,
  log: string,
  more: Environment = {},
): Process => {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...environment(), ...more },
  });
  alive.add(child);
  const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once("error", reject);
    // `close` and not `exit`: the last words have been read by then.
    child.once("close", (code, signal) => resolve(code ?? signal ?? 1));
  });
  void ended.then(
    () => alive.delete(child),
    () => alive.delete(child),
  );
  child.stderr?.setEncoding("utf8").on("data", (text: string) => appendFileSync(log, text));
  const line = new Promise<unknown>((resolve) => {
    if (child.stdout !== null)
      createInterface(child.stdout).once("line", (text) => resolve(JSON.parse(text)));
  });
  return {
    pid: child.pid ?? 0,
    ready: Promise.race([line, ended.then(() => null)]),
    ended,
    signal: (signal) => void child.kill(signal),
  };
};

/** Runs a source file to its end; resolves with its exit code and what it said. */
export const run = (
  file: string,
  args: ReadonlyArray<string>,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { env: environment() });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
