// Everything about a folder that is configured wrongly, all of it at once, and would keep a daemon from starting or from being
// of use: the folder and its modes, keys, settings, tokens, test callbacks, the firewall's rules. Implements RUN-141 and RUN-275.

import { existsSync } from "node:fs";
import * as TestCallbacks from "@social-harness/endpoint/callbacks/TestCallbacks";
import * as Limits from "@social-harness/endpoint/firewall/Limits";
import * as RulesFile from "@social-harness/endpoint/firewall/RulesFile";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { failed, Failure, ofUnknown } from "../Failure.ts";
import * as Keys from "./Keys.ts";
import { joinFirst } from "./Profile.ts";

export interface Checked {
  readonly settings: ReadonlyArray<Configuration.Setting>;
  readonly configuration: Configuration.Configuration;
  /** Of the firewall's file; null where there is none. */
  readonly firewallRules: number | null;
}

export interface CheckOptions {
  readonly folder: StateFolder;
  readonly sources: Omit<Configuration.Sources, "file">;
  readonly allowTestCallbacks: boolean;
  /** The mode of the daemon that runs, and lets nobody in by a token that is missing. */
  readonly runningMode: Configuration.Mode | null;
}

const rulesOf = (path: string): number | null => {
  const text = PrivateFile.read(path, Limits.fileBytesMax);
  if (text === null) return null;
  try {
    return RulesFile.parse(text).rules?.length ?? 0;
  } catch (error) {
    if (!(error instanceof RulesFile.RulesProblem)) throw error;
    throw failed(
      "firewall-invalid",
      `firewall.json: ${error.message}`,
      "Correct what is named there; until then a daemon holds every message.",
      error,
    );
  }
};

/** A start makes the tokens that are missing; a daemon that runs lets nobody in by them. */
const tokenProblems = (
  folder: StateFolder,
  running: Configuration.Mode | null,
  configured: Configuration.Mode | null,
): ReadonlyArray<Failure> => {
  const atStart = Tokens.troublesAtStart(folder, configured ?? running ?? "trusted-local");
  const now = running === null ? [] : Tokens.troublesOf(folder, running);
  const known = new Set(now.map(({ message }) => message));
  return [...now, ...atStart.filter(({ message }) => !known.has(message))].map(ofUnknown);
};

/** One failure for all: its reason is that of the first, its code the one of wrong usage only where nothing else is wrong. */
const together = (problems: ReadonlyArray<Failure>): Failure => {
  const [first] = problems as readonly [Failure, ...ReadonlyArray<Failure>];
  if (problems.length === 1) return first;
  const message = problems.map((problem) => problem.message).join("\n");
  const next = [...new Set(problems.map((problem) => problem.next).filter((one) => one !== ""))].join(" ");
  const exitCode = problems.every((problem) => problem.exitCode === 2) ? 2 : 1;
  return new Failure(exitCode, { reason: first.reason, message, next }, { cause: first });
};

/** Throws a `Failure` that says everything that is wrong. */
export const check = (options: CheckOptions): Checked => {
  const { folder, sources, runningMode } = options;
  if (!existsSync(folder.path)) throw failed("no-folder", `there is no folder ${folder.path}`, joinFirst);
  const problems: Array<Failure> = [];
  const noted = <A>(look: () => A): A | null => {
    try {
      return look();
    } catch (error) {
      problems.push(ofUnknown(error));
      return null;
    }
  };
  for (const path of [folder.path, folder.database, folder.lock].filter(existsSync))
    noted(() => PrivateFile.checkPrivate(path));
  const identity = noted(() => Keys.demand(folder));
  const configuration = noted(() => Configuration.load(folder, sources));
  problems.push(...tokenProblems(folder, runningMode, configuration?.mode ?? null));
  noted(() => TestCallbacks.read(folder, options.allowTestCallbacks));
  const firewallRules = noted(() => rulesOf(folder.firewall));
  if (problems.length > 0 || configuration === null || identity === null) throw together(problems);
  return { settings: Configuration.explain(folder, sources), configuration, firewallRules };
};
