// Writes the fold's transition table and the rules that follow every event into docs/spec/history.md, from the code: the
// table itself says which function stands in which cell, and the comment above each function says what it does. With
// `--check` it only says whether the page is up to date.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { rules } from "@social-harness/protocol/conversation/Settle";
import * as ProgramOptions from "@social-harness/testkit/ProgramOptions";
import { table } from "@social-harness/protocol/conversation/Transition";
import * as prettier from "prettier";

const { options } = ProgramOptions.take({
  command: "npm run table",
  about: "Writes the fold's transition table into docs/spec/history.md, from the code and its comments.",
  options: { check: ProgramOptions.flag("changes nothing, and says whether the page is up to date") },
});

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "docs", "spec", "history.md");
const sources = join(root, "packages", "protocol", "src", "conversation");
const begin = "<!-- Written by `npm run table`. -->";
const end = "<!-- End of what `npm run table` writes. -->";

/** The comment above each function of the fold, as one line. */
const meanings = (): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const file of readdirSync(sources)) {
    const text = readFileSync(join(sources, file), "utf8");
    for (const [, comment, name] of text.matchAll(
      /\/\*\*((?:(?!\*\/)[^])*)\*\/\n(?:export )?const (\w+) = /g,
    )) {
      found.set(name as string, (comment as string).replaceAll(/\n \*/g, "").replaceAll(/\s+/g, " ").trim());
    }
  }
  return found;
};

const meaningOf = (known: ReadonlyMap<string, string>, name: string): string => {
  const meaning = known.get(name);
  if (meaning === undefined) throw new Error(`${name} stands in the table, and no comment says what it does`);
  return meaning;
};

const phases = Object.keys(table) as ReadonlyArray<keyof typeof table>;
const events = Object.keys(table.open) as ReadonlyArray<keyof typeof table.open>;

const written = (): string => {
  const known = meanings();
  const nameOf = (phase: (typeof phases)[number], event: (typeof events)[number]): string =>
    table[phase][event].name;
  const rows = events.map((event) => [`\`${event}\``, ...phases.map((phase) => `${nameOf(phase, event)}`)]);
  const cells = [...new Set(events.flatMap((event) => phases.map((phase) => nameOf(phase, event))))];
  const list = (names: ReadonlyArray<string>, mark: string): string =>
    names.map((name) => `${mark} \`${name}\` ${meaningOf(known, name)}`).join("\n");
  return [["event", ...phases], ["---", ...phases.map(() => "---")], ...rows]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n")
    .concat(
      `\n\n${list(cells, "-")}\n\nThen, until none of them changes anything, the first of these that does:\n\n`,
    )
    .concat(
      list(
        rules.map(({ name }) => name),
        "1.",
      ),
    );
};

const text = readFileSync(page, "utf8");
const from = text.indexOf(begin);
const to = text.indexOf(end);
if (from < 0 || to < from) throw new Error(`${page} has no place for the table`);
const style = await prettier.resolveConfig(page);
const renewed = await prettier.format(`${text.slice(0, from)}${begin}\n\n${written()}\n\n${text.slice(to)}`, {
  ...style,
  filepath: page,
});
const isCurrent = renewed === text;
if (!options.check) writeFileSync(page, renewed);
const outcome = isCurrent
  ? "is up to date"
  : options.check
    ? "is out of date: npm run table"
    : "is written anew";
process.stdout.write(`the transition table in docs/spec/history.md ${outcome}\n`);
process.exitCode = options.check && !isCurrent ? 1 : 0;
