// One process of this same binary, as the demo and the replay run them: started, watched until its ready line, stopped or
// killed by its pid, and never left behind. The child holds one end of an IPC channel and stops when it closes, so it ends
// even when this process is killed.

import { spawn, type ChildProcess } from "node:child_process";
import { flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { failed } from "../Failure.ts";

const here = fileURLToPath(import.meta.url);
/** In the single file that `npm run bundle` makes, this module is in the program itself. */
const main = here.endsWith(".ts") ? join(dirname(here), "../main.ts") : here;
/** As the installed binary's first line has it. */
const nodeFlags = ["--max-semi-space-size=16"];
const readyMsMax = 30_000;
const stopMsMax = 6_000;
const lastWordsMax = 2_000;

export interface Child {
  readonly pid: number;
  /** The JSON object of its ready line. */
  readonly ready: unknown;
  /** SIGTERM, and SIGKILL when it has not ended in time. Resolves with whether it ended by itself with code 0. */
  readonly stop: () => Promise<boolean>;
  /** SIGKILL. Resolves when the process is gone. */
  readonly kill: () => Promise<void>;
}

const alive = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

const within = async <A>(ms: number, work: Promise<A>): Promise<A | "late"> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** The settings of whoever runs the demo are not those of its endpoints. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SOCIAL_HARNESS_")));

/**
 * Starts `social-harness <args>`, or another build of it, and waits for its ready line. Throws a `Failure` with its last words
 * when none comes.
 */
export const start = async (args: ReadonlyArray<string>, build: string | null = null): Promise<Child> => {
  // The child loads much of what this process has compiled.
  flushCompileCache();
  const [command, before] = build === null ? [process.execPath, [...nodeFlags, main]] : [build, []];
  const child = spawn(command, [...before, ...args], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: environment(),
  });
  alive.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  }).then(() => void alive.delete(child));
  let lastWords = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    lastWords = (lastWords + text).slice(-lastWordsMax);
  });
  const firstLine = new Promise<string>((resolve) => {
    if (child.stdout !== null) createInterface(child.stdout).once("line", resolve);
  });
  const line = await within(readyMsMax, Promise.race([firstLine, ended.then(() => null)]));
  if (line === null || line === "late") {
    child.kill("SIGKILL");
    throw failed(
      "start-failed",
      `\`social-harness ${args.slice(0, 2).join(" ")}\` ${line === null ? "ended before it was ready" : "was not ready in time"}: ${lastWords.trim()}`,
      "Start it by itself with NODE_DEBUG=social-harness to see why.",
    );
  }
  return {
    pid: child.pid as number,
    ready: JSON.parse(line) as unknown,
    stop: async () => {
      child.kill("SIGTERM");
      if ((await within(stopMsMax, ended)) !== "late") return child.exitCode === 0;
      child.kill("SIGKILL");
      await ended;
      return false;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};
