// What all commands share: the common options, examples under --help, and the context that an action runs in.
// Implements RUN-04.

import { InvalidArgumentError, type Command } from "commander";
import { ofUnknown } from "./Failure.ts";
import * as Output from "./Output.ts";
import * as Hints from "./text/Hints.ts";

export interface Context<Options> {
  readonly output: Output.Output;
  readonly options: Options;
}

export interface Description {
  readonly name: string;
  readonly summary: string;
  /** What a person would type behind `social-harness`, each with a word on what it does. */
  readonly examples: ReadonlyArray<readonly [command: string, effect: string]>;
  /** What --json does, where it is not one object at the end. */
  readonly json?: string;
}

/** For under a command's --help. */
export const exampleLines = (examples: Description["examples"]): string => {
  const width = Math.max(...examples.map(([command]) => command.length));
  const lines = examples.map(
    ([command, effect]) => `  $ social-harness ${command.padEnd(width)}  # ${effect}`,
  );
  return `\nExamples:\n${lines.join("\n")}`;
};

/** A command under `parent` that takes --json. Arguments and further options are added by its file. */
export const define = (
  parent: Command,
  { name, summary, examples, json = "print one JSON object as the last line of stdout" }: Description,
): Command =>
  parent
    .command(name)
    .description(summary)
    .option("--json", json)
    .addHelpText("after", exampleLines(examples));

/** An option's value that may not be empty: an unset variable of a script must not mean the current folder. */
export const folderPath = (text: string): string => {
  if (text !== "") return text;
  throw new InvalidArgumentError("Expected the path of a folder.");
};

/** The options of every command that works on one endpoint (`Profile.StateOptions`). */
export const withState = (command: Command): Command =>
  command
    .option("--profile <name>", 'the endpoint\'s profile (default: "default")')
    .option("--state <dir>", "its state folder, instead of the profile's", folderPath);

/**
 * The action gets its context first, then the command's arguments in order. What it fails with says the next step for the
 * same endpoint or network.
 */
export const act = <Options, Arguments extends ReadonlyArray<unknown>>(
  command: Command,
  action: (context: Context<Options>, ...values: Arguments) => Promise<void>,
): void => {
  command.action(async (...parameters: ReadonlyArray<unknown>) => {
    const values = parameters.slice(0, command.registeredArguments.length) as unknown as Arguments;
    const options = command.optsWithGlobals<Options & { readonly json?: boolean }>();
    try {
      await action({ output: Output.create(options.json === true), options }, ...values);
    } catch (error) {
      const failure = ofUnknown(error);
      const next = Hints.naming(options as Hints.Named, failure.next);
      throw next === failure.next ? failure : failure.with({ next });
    }
  });
};

/** An option's value as a whole number within bounds. */
export const wholeNumber =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${minimum} to ${maximum}.`);
  };
