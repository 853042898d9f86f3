// `npm run bench [-- <name>...]`: asks the named questions, or all of them, one after another; prints their lines as a table,
// writes them as JSON to bench/results/, and exits with 1 when a target was missed.

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import process from "node:process";
import * as ProgramOptions from "@social-harness/testkit/ProgramOptions";
import { daemon } from "./Daemon.ts";
import { directPost } from "./DirectPost.ts";
import { groups } from "./Groups.ts";
import { historyPage } from "./HistoryPage.ts";
import { inbox } from "./Inbox.ts";
import type { Line, Question } from "./Line.ts";
import { isMet, ratioOf } from "./Line.ts";
import { router } from "./Router.ts";
import * as Table from "./Table.ts";
import { throughput } from "./Throughput.ts";
import { verification } from "./Verification.ts";

const questions: ReadonlyArray<Question> = [
  directPost,
  throughput,
  groups,
  verification,
  historyPage,
  router,
  inbox,
  daemon,
];

const resultsFolder = fileURLToPath(new URL("results/", import.meta.url));

interface Answer {
  readonly question: string;
  readonly seconds: number;
  readonly lines: ReadonlyArray<Line>;
}

const program = {
  command: "npm run bench",
  about:
    "Asks what the product costs, as ratios of two things measured in one run, and says which targets were missed. " +
    "bench/README.md explains each line.",
  words: {
    takes: "NAME...",
    means: `only these questions: ${questions.map(({ name }) => name).join(", ")}`,
    among: questions.map(({ name }) => name),
  },
  options: {},
};

const ask = async ({ name, answer }: Question): Promise<Answer> => {
  const started = performance.now();
  const lines = await answer();
  return { question: name, seconds: (performance.now() - started) / 1_000, lines };
};

const write = (answers: ReadonlyArray<Answer>): string => {
  const at = new Date().toISOString();
  const file = `${resultsFolder}${at.replaceAll(":", "-")}.json`;
  const lines = answers.flatMap(({ question, lines: all }) =>
    all.map((line) => ({ question, ...line, ratio: ratioOf(line), met: isMet(line) })),
  );
  mkdirSync(resultsFolder, { recursive: true });
  const machine = { node: process.version, platform: process.platform, processors: cpus().length };
  writeFileSync(file, `${JSON.stringify({ at, machine, lines }, null, 2)}\n`);
  return file;
};

const run = async (names: ReadonlyArray<string>): Promise<boolean> => {
  const asked = questions.filter(({ name }) => names.length === 0 || names.includes(name));
  const answers: Array<Answer> = [];
  process.stdout.write(Table.head());
  for (const question of asked) {
    const answer = await ask(question);
    answers.push(answer);
    process.stdout.write(Table.section(question.asks, answer.seconds, answer.lines));
  }
  const missed = answers.flatMap(({ lines }) => lines).filter((line) => !isMet(line));
  process.stdout.write(`\n${missed.length === 0 ? "every target met" : `${missed.length} targets missed`}; `);
  process.stdout.write(`all numbers in ${write(answers)}\n`);
  return missed.length === 0;
};

process.exitCode = (await run(ProgramOptions.take(program).words)) ? 0 : 1;
