// A checker that is a program: the question on its standard input, its answer on standard output, and an exit code of 0. Started
// without a shell, with nothing of this process's environment, in a process group of its own, so that what it started ends
// with it. Implements ING-151, ING-153 and ING-249.

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import type { Ask } from "./Ask.ts";
import { CheckFailure } from "./CheckFailure.ts";
import * as Limits from "./Limits.ts";

/** A secret that the daemon was started with is none of the checker's business; where programs are is. */
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/** Kills what is left of a process and all that it has started, but for what has gone into a session of its own. */
const end = (child: ChildProcess): void => {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in the group.
  }
};

type Child = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

const hasPipes = (child: ChildProcess): child is Child => Boolean(child.stdin) && Boolean(child.stdout);

/** Throws `CheckFailure` where it cannot even be tried; most troubles come as an event. */
const started = ([program = "", ...words]: ReadonlyArray<string>, folder: string): Child => {
  let child: ChildProcess;
  try {
    child = spawn(program, words, {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
  } catch (error) {
    throw new CheckFailure("not-started", { cause: error });
  }
  if (hasPipes(child)) return child;
  // Without a descriptor to spare there are no pipes, and an event says later what is known already.
  child.on("error", () => undefined);
  throw new CheckFailure("not-started");
};

export const create =
  (command: ReadonlyArray<string>, folder: string): Ask =>
  (question, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const child = started(command, folder);
      const chunks: Array<Uint8Array> = [];
      let bytes = 0;
      const settle = (finish: () => void): void => {
        signal.removeEventListener("abort", stop);
        finish();
      };
      const fail = (error: unknown): void => {
        end(child);
        child.stdout.destroy();
        settle(() => reject(error));
      };
      const stop = (): void => fail(signal.reason);
      signal.addEventListener("abort", stop);
      child.once("error", (error) => settle(() => reject(new CheckFailure("not-started", { cause: error }))));
      // Whoever decides without reading everything closes its end: that is no failure.
      child.stdin.on("error", () => undefined);
      child.stdin.end(question);
      child.stdout.on("data", (chunk: Uint8Array) => {
        bytes += chunk.byteLength;
        if (bytes > Limits.answerBytesMax) fail(new CheckFailure("too-large"));
        else chunks.push(chunk);
      });
      child.once("close", (code) => {
        // What it has left running without its output. The number is the group's as long as there is one, and is not soon another's.
        end(child);
        settle(() => (code === 0 ? resolve(Buffer.concat(chunks)) : reject(new CheckFailure("exited"))));
      });
    });
