// What a firewall needs once there is one: reads its rules, and judges by them and by the checker behind them. Loaded with the
// first file of rules, so that an endpoint without one pays for none of it. Implements ING-132.

import process from "node:process";
import * as Checker from "./Checker.ts";
import * as Pace from "./Pace.ts";
import * as Program from "./Program.ts";
import * as Queue from "./Queue.ts";
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
  /** What its checker needs and is not there at this moment, or null. */
  readonly missing: () => string | null;
}

const allow: Verdict = { verdict: "allow" };

export { RulesProblem } from "./RulesFile.ts";

/** Throws `RulesProblem` for a text that is no file of rules. */
export const load = (text: string, options: EngineOptions): Engine => {
  const file = RulesFile.parse(text);
  const rules = Rules.compile(file, Pace.create(options.cpuMs ?? threadCpuMs));
  const checker = file.checker === undefined ? null : Checker.create(file.checker, options);

  const judge: Judge = {
    /** A check takes its time, so what rules alone have decided before it is settled first. */
    decide: async (entries, signal) => {
      const verdicts: Array<Verdict> = [];
      for (const entry of entries) {
        const subject = Subject.of(options, entry);
        const decision = subject === null ? allow : await rules.decide(subject, signal);
        signal.throwIfAborted();
        if (decision.verdict === "check") break;
        verdicts.push(decision);
      }
      return verdicts;
    },
    check: async (conversationId, signal) => {
      const read = (): Judged => {
        const [entry] = Queue.next(options.db, conversationId, 1);
        const subject = entry === undefined ? null : Subject.of(options, entry);
        if (subject === null) throw new Error("nothing is queued that could be checked");
        return subject;
      };
      if (checker === null) throw new Error("rules without a checker ask for a check");
      return checker(read, signal);
    },
  };

  const command = file.checker?.command;
  return {
    judge,
    allowRelease: file.allowRelease === true,
    missing: () => (command === undefined ? null : Program.missing(command)),
  };
};
