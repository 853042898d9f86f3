// The options of the programs that developers run (`npm run sim` and its like): one declaration reads the command line,
// checks every value and writes `--help`. Wrong usage is one line and the help, with exit code 2.

import { randomInt } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";

/** One option: what it takes, what it means, and how its texts become a value. */
export interface Option<Value> {
  /** The placeholder of its value; null for a flag. */
  readonly takes: string | null;
  readonly means: string;
  /** Of the texts that were given for it, none where it is left out. Throws `WrongUse`. */
  readonly read: (texts: ReadonlyArray<string>, name: string) => Value;
}

export interface Program<Options> {
  /** As a person types it, without options. */
  readonly command: string;
  readonly about: string;
  /** What may stand beside options: its placeholder, what it means, and the texts that are allowed. */
  readonly words?: {
    readonly takes: string;
    readonly means: string;
    readonly among: ReadonlyArray<string>;
  };
  readonly options: { readonly [Name in keyof Options]: Option<Options[Name]> };
}

export class WrongUse extends Error {
  override readonly name = "WrongUse";
}

const wrong = (message: string): never => {
  throw new WrongUse(message);
};

const single = (texts: ReadonlyArray<string>, name: string): string | undefined =>
  texts.length > 1 ? wrong(`--${name} is given once`) : texts[0];

export const flag = (means: string): Option<boolean> => ({
  takes: null,
  means,
  read: (texts) => texts.length > 0,
});

/** A whole number from `minimum` on. */
export const wholeNumber = (takes: string, means: string, minimum = 0): Option<number | undefined> => ({
  takes,
  means,
  read: (texts, name) => {
    const text = single(texts, name);
    if (text === undefined) return undefined;
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return number >= minimum ? number : wrong(`--${name} takes a whole number from ${minimum} on`);
  },
});

const among = <Word extends string>(words: ReadonlyArray<Word>, text: string, what: string): Word =>
  words.find((word) => word === text) ?? wrong(`${what} is one of ${words.join(", ")}`);

export const oneOf = <Word extends string>(
  takes: string,
  means: string,
  words: ReadonlyArray<Word>,
): Option<Word | undefined> => ({
  takes,
  means: `${means}: ${words.join(", ")}`,
  read: (texts, name) => {
    const text = single(texts, name);
    return text === undefined ? undefined : among(words, text, `--${name}`);
  },
});

/** Any number of them, each after a mention of its own. */
export const someOf = (
  takes: string,
  means: string,
  words: ReadonlyArray<string>,
): Option<ReadonlyArray<string>> => ({
  takes,
  means,
  read: (texts, name) => texts.map((text) => among(words, text, `--${name}`)),
});

/** A seed below a bound where the command line names none. */
export const freshSeed = (bound: number): number => randomInt(bound);

const lineWidth = 100;

/** `text` in lines, under each other from one column on. */
const wrapped = (text: string, indent: number): string => {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (indent + line.length + 1 + word.length > lineWidth) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
};

export const helpOf = <Options>({ command, about, words, options }: Program<Options>): string => {
  const rows = (Object.entries(options) as ReadonlyArray<[string, Option<unknown>]>).map(
    ([name, { takes, means }]) => [takes === null ? `--${name}` : `--${name} ${takes}`, means] as const,
  );
  rows.push(["--help", "this text"]);
  if (words !== undefined) rows.unshift([words.takes, words.means]);
  const width = 2 + Math.max(...rows.map(([name]) => name.length)) + 2;
  const list = rows.map(([name, means]) => `  ${name}`.padEnd(width) + wrapped(means, width)).join("\n");
  const usage = `${command} -- ${words === undefined ? "" : `[${words.takes}] `}[options]`;
  return `${usage}\n\n${wrapped(about, 0)}\n\n${list}\n`;
};

export type Parsed<Options> =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly message: string }
  | { readonly kind: "options"; readonly options: Options; readonly words: ReadonlyArray<string> };

/** What a command line says to a program. */
export const parse = <Options>(program: Program<Options>, words: ReadonlyArray<string>): Parsed<Options> => {
  const known = Object.entries(program.options) as ReadonlyArray<[string, Option<unknown>]>;
  const types = known.map(([name, { takes }]) => [
    name,
    { type: takes === null ? ("boolean" as const) : ("string" as const), multiple: true },
  ]);
  if (words.includes("--help") || words.includes("-h")) return { kind: "help" };
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: Object.fromEntries(types) as Record<string, { type: "boolean" | "string"; multiple: true }>,
      allowPositionals: true,
    });
    const read = known.map(
      ([name, option]) => [name, option.read((values[name] ?? []).map(String), name)] as const,
    );
    const rest = positionals.map((word) =>
      program.words === undefined
        ? wrong(`${word} belongs to no option`)
        : among(program.words.among, word, program.words.takes),
    );
    return { kind: "options", options: Object.fromEntries(read) as Options, words: rest };
  } catch (error) {
    if (error instanceof WrongUse) return { kind: "wrong", message: error.message };
    if (!(error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")))
      throw error;
    return { kind: "wrong", message: (error.message.split(/\n|\. /)[0] as string).replace(/\.$/, "") };
  }
};

/** Ends the process for wrong usage: one line and the help on stderr. */
export const refuse = <Options>(program: Program<Options>, message: string): never => {
  process.stderr.write(`${message}\n\n${helpOf(program)}`);
  process.exit(2);
};

/** The options and words of this process, unless it was asked for help or in a wrong way: then it ends here. */
export const take = <Options>(
  program: Program<Options>,
): { readonly options: Options; readonly words: ReadonlyArray<string> } => {
  const parsed = parse(program, process.argv.slice(2));
  switch (parsed.kind) {
    case "options":
      return parsed;
    case "wrong":
      return refuse(program, parsed.message);
    case "help":
      process.stdout.write(helpOf(program));
      process.exit(0);
  }
};
