// What a firewall needs once there is one: reads its rules, and judges by them and by the checker behind them. Loaded with the
// first file of rules, so that an endpoint without one pays for none of it. Implements ING-132.

import process from "node:process";
import * as Checker from "./Checker.ts";
import * as Pace from "./Pace.ts";
import type { Queued } from "./Queue.ts";
import * as Rules from "./Rules.ts";
import * as RulesFile from "./RulesFile.ts";
import * as Subject from "./Subject.ts";
import type { Subject as Judged, Verdict } from "./Verdict.ts";
import type { Judge } from "./Workers.ts";

export interface EngineOptions extends Subject.SubjectOptions, Checker.CheckerOptions {
  /** How long this thread has computed, in milliseconds; another clock for tests. */
  readonly cpuMs?: () => number;
}

const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export interface Engine {
  readonly judge: Judge;
  readonly allowRelease: boolean;
}

export { RulesProblem } from "./RulesFile.ts";

/** Throws `RulesProblem` for a text that is no file of rules. */
export const load = async (text: string, options: EngineOptions): Promise<Engine> => {
  const file = RulesFile.parse(text);
  const rules = await Rules.compile(file, Pace.create(options.cpuMs ?? threadCpuMs));
  const checker = file.checker === undefined ? null : Checker.create(file.checker, options);

  const check = (subject: Judged, signal: AbortSignal): Promise<Verdict> => {
    if (checker === null) throw new Error("rules without a checker ask for a check");
    return checker(subject, signal);
  };

  /** A check takes its time, so what rules alone have decided before it is settled first. */
  const judge = async (
    entries: ReadonlyArray<Queued>,
    signal: AbortSignal,
  ): Promise<ReadonlyArray<Verdict>> => {
    const verdicts: Array<Verdict> = [];
    for (const entry of entries) {
      const subject = Subject.of(options, entry);
      const decision = subject === null ? { verdict: "allow" as const } : await rules.decide(subject, signal);
      signal.throwIfAborted();
      if (decision.verdict !== "check") verdicts.push(decision);
      else if (verdicts.length > 0) break;
      else return [await check(subject as Judged, signal)];
    }
    return verdicts;
  };

  return { judge, allowRelease: file.allowRelease === true };
};
