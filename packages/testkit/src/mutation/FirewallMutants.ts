// Bugs of the firewall: messages that slip past it, overtake each other, are asked about too soon or by nobody, and holds that
// say or let through more than they may.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const at = (name: string): string => `packages/endpoint/src/firewall/${name}.ts`;

interface Bug {
  readonly name: string;
  readonly why: string;
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
}

const mutant = ({ name, why, file, text, replacement }: Bug, test: SurfaceMutant["test"]): SurfaceMutant => ({
  name,
  why,
  edits: [{ file, text, replacement }],
  test,
});

const way = (title: string): SurfaceMutant["test"] => ({ file: files.firewall, title });
const model: SurfaceMutant["test"] = { file: files.wallModel, title: "in any order of posts" };
const checker = (title: string): SurfaceMutant["test"] => ({ file: files.checker, title });
const rules = (title: string): SurfaceMutant["test"] => ({ file: files.rules, title });
const rate = (title: string): SurfaceMutant["test"] => ({ file: files.rate, title });
const watch = (title: string): SurfaceMutant["test"] => ({ file: files.watch, title });
const places = (title: string): SurfaceMutant["test"] => ({ file: files.places, title });
const missed = (title: string): SurfaceMutant["test"] => ({ file: files.missedFile, title });
const tools = (title: string): SurfaceMutant["test"] => ({ file: files.holdTools, title });

export const firewallMutants: ReadonlyArray<SurfaceMutant> = [
  mutant(
    {
      name: "failure-overtakes",
      why: "What is told of an own post must not pass what its conversation has waiting.",
      file: at("Firewall"),
      text: '((mode === "on" && isJudged) || Queue.has(db, conversationId))',
      replacement: '(mode === "on" && isJudged)',
    },
    way("overtakes nothing"),
  ),
  mutant(
    {
      name: "old-file-in-force",
      why: "Between two changes of the file the older one must not open the wall.",
      file: at("Firewall"),
      text: "if (isClosing || file !== content || writer === null) return;",
      replacement: "if (isClosing || writer === null) return;",
    },
    way("lets nothing through"),
  ),
  mutant(
    {
      name: "broken-file-allows",
      why: "A file that cannot be used must let nothing through.",
      file: at("Firewall"),
      text: '{ verdict: "hold", reason: "rules-unreadable" }',
      replacement: '{ verdict: "allow" }',
    },
    way("a file that cannot be used"),
  ),
  mutant(
    {
      name: "missing-checker-untold",
      why: "An owner must not wait for a checker that was never there.",
      file: at("Firewall"),
      text: "const explanation = missing();",
      replacement: "const explanation = null;",
    },
    way("whose files are not there"),
  ),
  mutant(
    {
      name: "checker-words-in-the-log",
      why: "What a rule or a checker says of a message is for its owner alone.",
      file: at("Workers"),
      text: '(reason === "check-failed" && explanation !== undefined',
      replacement: "(explanation !== undefined",
    },
    way("is kept with the reason"),
  ),
  mutant(
    {
      name: "two-checks-of-one-conversation",
      why: "Items of one conversation are judged one after the other.",
      file: at("Workers"),
      text: "if (!busy.has(conversationId)) begin(conversationId);",
      replacement: "begin(conversationId);",
    },
    model,
  ),
  mutant(
    {
      name: "newest-first",
      why: "Items of one conversation are settled in their order.",
      file: at("Queue"),
      text: "ORDER BY sequence LIMIT ?",
      replacement: "ORDER BY sequence DESC LIMIT ?",
    },
    model,
  ),
  mutant(
    {
      name: "queue-row-stays",
      why: "An item that is settled must not be settled again.",
      file: at("Queue"),
      text: "if (!remove(db, entry)) throw",
      replacement: "if (entry.sequence < 0) throw",
    },
    model,
  ),
  mutant(
    {
      name: "guidance-forgotten",
      why: "An allow brings its guidance with it.",
      file: at("Queue"),
      text: "verdict.guidance === undefined",
      replacement: "verdict.guidance !== undefined",
    },
    way("private until its check allows it"),
  ),
  mutant(
    {
      name: "group-outlives-the-deadline",
      why: "A checker that hangs must not leave behind what it has started.",
      file: at("CommandChecker"),
      text: 'process.kill(-pid, "SIGKILL")',
      replacement: 'child.kill("SIGKILL")',
    },
    checker("killed with all that it started"),
  ),
  mutant(
    {
      name: "checker-sees-the-environment",
      why: "A secret that the daemon was started with is none of the checker's business.",
      file: at("CommandChecker"),
      text: "env: environment,",
      replacement: "env: { ...process.env, ...environment },",
    },
    checker("nothing of this process's environment"),
  ),
  mutant(
    {
      name: "endless-answer",
      why: "Memory must stay flat, whatever a checker says.",
      file: at("HttpChecker"),
      text: "bytes > Limits.answerBytesMax",
      replacement: "bytes > 1_000_000_000",
    },
    checker("followed nowhere"),
  ),
  mutant(
    {
      name: "failed-check-allows",
      why: "A checker that is down lets nothing through.",
      file: at("Checker"),
      text: '{ verdict: "hold", reason: "check-failed", explanation: explain(answer.category) }',
      replacement: '{ verdict: "allow" }',
    },
    checker("ends badly"),
  ),
  mutant(
    {
      name: "release-twice",
      why: "A hold that has ended must not end again.",
      file: at("HoldRows"),
      text: "WHERE hold_id = ? AND ending IS NULL",
      replacement: "WHERE hold_id = ?",
    },
    tools("never reaches the model"),
  ),
  mutant(
    {
      name: "released-unmarked",
      why: "The model must see that an item comes after its turn.",
      file: at("HoldRows"),
      text: "released: true,",
      replacement: "",
    },
    tools("says so beside it"),
  ),
  mutant(
    {
      name: "hold-tools-for-everybody",
      why: "What is held must be invisible to whoever is not the owner.",
      file: "packages/endpoint/src/mcp/Catalog.ts",
      text: 'kind === "owner" ?',
      replacement: 'kind !== "owner" ?',
    },
    tools("nobody else ever"),
  ),
  mutant(
    {
      name: "deaf-checker",
      why: "A way of asking that does not mind its end must not keep a stop waiting.",
      file: at("Checker"),
      text: "await Promise.race([ask(question, either), ended(either)])",
      replacement: "await ask(question, either)",
    },
    checker("outlives its deadline"),
  ),
  mutant(
    {
      name: "leftovers-of-a-verdict",
      why: "What a checker leaves running must not pile up.",
      file: at("CommandChecker"),
      text: "        end(child);\n        settle(",
      replacement: "        settle(",
    },
    checker("after its verdict"),
  ),
  mutant(
    {
      name: "rules-take-all",
      why: "Looking at texts must not keep everything else waiting.",
      file: at("Pace"),
      text: "if (steps < Limits.stepsAtOnce) return null;",
      replacement: "if (steps >= 0) return null;",
    },
    rules("give way as one long one does"),
  ),
  mutant(
    {
      name: "looks-without-end",
      why: "One message must not cost more than its share.",
      file: at("Pace"),
      text: "usedMs > Limits.rulesMsMax",
      replacement: "usedMs < 0",
    },
    rules("cannot be looked through in time"),
  ),
  mutant(
    {
      name: "rate-of-the-future",
      why: "A clock that was set back must not hide a flood.",
      file: at("Rate"),
      text: "if (arrivals.some((other) => isAhead(one, other))) return",
      replacement: "if (arrivals.some((other) => other.at > one.at)) return",
    },
    rate("a clock that was set back"),
  ),
  mutant(
    {
      name: "absent-at-once",
      why: "A file that is being replaced is not gone.",
      file: at("Watch"),
      text: "(isAbsent ? absentLooks : 1)",
      replacement: "1",
    },
    watch("replaced again and again"),
  ),
  mutant(
    {
      name: "queue-of-a-missed-file",
      why: "A start in the wrong moment must let nothing through.",
      file: at("Firewall"),
      text: 'isThere || isMissed ? "on" : "off"',
      replacement: 'isThere ? "on" : isMissed ? "emptying" : "off"',
    },
    missed("a start while the file is away"),
  ),
  mutant(
    {
      name: "all-places-for-one",
      why: "One principal must leave places to the others.",
      file: at("Places"),
      text: ">= ofOneMax",
      replacement: ">= Infinity",
    },
    places("none has more than its part"),
  ),
  mutant(
    {
      name: "wake-for-a-hold",
      why: "What is held must not be seen in any way.",
      file: at("Workers"),
      text: 'if (settled.some(({ kind }) => kind === "admitted")) options.onAdmitted();',
      replacement: "options.onAdmitted();",
    },
    way("leaves its conversation to go on"),
  ),
];
