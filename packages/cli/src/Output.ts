// Where a command's words go. People get short lines, colours on a terminal, and progress on anything over a second;
// with --json there is one object on stdout and nothing else. Implements RUN-01 and RUN-02.

import process from "node:process";
import { debuglog, styleText } from "node:util";
import type { Failure } from "./Failure.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export interface Output {
  readonly json: boolean;
  /** A line for people; silent with --json. */
  readonly say: (line?: string) => void;
  /** The command's result: the object with --json, else the lines. */
  readonly result: (value: object, lines?: string) => void;
  /** A remark beside the result, on stderr, so that the result alone can be piped; silent with --json. */
  readonly remark: (line: string) => void;
  /** Runs `work`; when it takes over a second, people see what is going on. */
  readonly during: <A>(what: string, work: Promise<A>) => Promise<A>;
  readonly style: (style: Style, text: string) => string;
}

const progressAfterMs = 1_000;
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** On a terminal a moving mark that goes away again, elsewhere one plain line. */
const startProgress = (what: string): (() => void) => {
  const stream = process.stderr;
  let frame = 0;
  let ticking: NodeJS.Timeout | undefined;
  const start = setTimeout(() => {
    if (!stream.isTTY) {
      stream.write(`${what} ...\n`);
      return;
    }
    ticking = setInterval(() => {
      stream.write(`\r${frames[frame++ % frames.length]} ${what} ...`);
    }, 80);
  }, progressAfterMs);
  return () => {
    clearTimeout(start);
    if (ticking !== undefined) {
      clearInterval(ticking);
      stream.write("\r\u001b[2K");
    }
  };
};

export const create = (json: boolean): Output => ({
  json,
  say: (line = "") => {
    if (!json) process.stdout.write(`${line}\n`);
  },
  result: (value, lines) => {
    if (json) process.stdout.write(`${JSON.stringify(value)}\n`);
    else if (lines !== undefined && lines !== "") process.stdout.write(`${lines}\n`);
  },
  remark: (line) => {
    if (!json) process.stderr.write(`${styleText("dim", line, { stream: process.stderr })}\n`);
  },
  during: async (what, work) => {
    if (json) return work;
    const stop = startProgress(what);
    try {
      return await work;
    } finally {
      stop();
    }
  },
  style: (style, text) => styleText(style, text, { stream: process.stdout }),
});

/** "1 record", "2 records". */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

export const printFailure = (failure: Failure, json: boolean): void => {
  const { reason, message, next, details } = failure;
  if (json) {
    process.stderr.write(`${JSON.stringify({ error: { reason, message, next, ...details } })}\n`);
    return;
  }
  const label = styleText("red", "error:", { stream: process.stderr });
  process.stderr.write(`${label} ${message}\n`);
  if (next !== "") process.stderr.write(`  ${next}\n`);
  if (debuglog("social-harness").enabled) {
    for (let cause: unknown = failure; cause instanceof Error; cause = cause.cause) {
      process.stderr.write(`${cause.stack ?? cause.message}\n`);
    }
  }
};
