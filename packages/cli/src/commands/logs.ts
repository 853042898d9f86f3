// `logs`: the last lines of the daemon's log, and with --follow those that come. Reads the files, so it works while no daemon
// runs, too. Implements RUN-147, RUN-148 and RUN-277.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, type Command } from "commander";
import * as LogFiles from "@social-harness/endpoint/state/LogFiles";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { act, define, wholeNumber, withState, type Context } from "../Command.ts";
import { pathOf, type StateOptions } from "../daemon/Profile.ts";
import { failed } from "../Failure.ts";
import { count } from "../Output.ts";
import { logLine } from "../text/LogLines.ts";
import { untilStopped } from "../Waiting.ts";

interface Options extends StateOptions {
  readonly lines: number;
  readonly level: LogFiles.Level;
  readonly follow?: boolean;
}

const linesDefault = 100;
const linesMax = 100_000;
const followMs = 200;

const otherFolder =
  "Give the --state or the --profile of an endpoint: `social-harness logs --help` shows how.";

const levelOf = (text: string): LogFiles.Level => {
  const level = LogFiles.levels.find((one) => one === text);
  if (level !== undefined) return level;
  throw new InvalidArgumentError(`Expected one of ${LogFiles.levels.join(", ")}.`);
};

const show = async ({ output, options }: Context<Options>): Promise<void> => {
  const { path, logs } = StateFolder.at(pathOf(options));
  if (!existsSync(path)) throw failed("no-folder", `there is no folder ${path}`, otherFolder);
  const least = LogFiles.levels.indexOf(options.level);
  const keep = ({ level }: LogFiles.Line): boolean => LogFiles.levels.indexOf(level) >= least;
  const reader = LogFiles.open(logs);
  const follows = options.follow === true;
  const { lines, unreadable } = reader.last(options.lines, keep);
  if (lines.length === 0 && unreadable === 0 && !follows) {
    // Nothing of that level is what a healthy endpoint has to say of it; no line at all is told from that.
    if (LogFiles.open(logs).last(1, () => true).lines.length > 0)
      return output.result({ lines, unreadable }, `There is no line of level ${options.level} or above.`);
    throw failed("no-log", `there is no line in ${logs}`, "Start the endpoint: `social-harness daemon`.");
  }
  const remark = (broken: number): void => {
    if (broken > 0)
      output.remark(`${count(broken, "line")} could not be read: the disk was full, or a power cut came.`);
  };
  remark(unreadable);
  if (!follows) {
    return output.result({ lines, unreadable }, lines.map((line) => logLine(output, line)).join("\n"));
  }
  for (const line of lines) output.result(line, logLine(output, line));
  const stopping = new AbortController();
  void untilStopped().then(() => stopping.abort());
  while (!stopping.signal.aborted) {
    const more = reader.more();
    for (const line of more.lines.filter(keep)) output.result(line, logLine(output, line));
    remark(more.unreadable);
    // Told to stop, it has done what it was asked to.
    await sleep(followMs, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
};

export const logs = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "logs",
      summary: "show what the daemon wrote into its log",
      json: "print one JSON object as the last line of stdout; with --follow, one in each line",
      examples: [
        ["logs", `the last ${linesDefault} lines`],
        ["logs --level warn --follow", "what needs somebody's attention, as it comes"],
        ["logs --lines 1000 --json", "for a program"],
      ],
    }),
  )
    .option("--lines <n>", "how many at most", wholeNumber(1, linesMax), linesDefault)
    .option("--level <level>", "this level and above: debug, info, warn or error", levelOf, "debug")
    .option("--follow", "go on until interrupted; with --json one object a line");
  act<Options, []>(command, show);
};
