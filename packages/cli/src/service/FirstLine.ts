// How the file of a program has itself started, from its first line: `#!/usr/bin/env -S NAME=value node --flag`. A service starts
// the program by its Node and not by that line, and should start it in the same way.

import { readFileSync } from "node:fs";

export interface FirstLine {
  readonly environment: Readonly<Record<string, string>>;
  /** Of Node. */
  readonly flags: ReadonlyArray<string>;
}

export const read = (path: string): FirstLine => {
  const line = readFileSync(path, "latin1").split("\n", 1)[0] ?? "";
  const words = (/^#!\S*\benv(?: -S)? (.*)$/.exec(line)?.[1] ?? "").split(" ");
  const program = words.findIndex((word) => !word.includes("="));
  return {
    environment: Object.fromEntries(
      words.slice(0, program).map((word) => {
        const [name = "", ...rest] = word.split("=");
        return [name, rest.join("=")];
      }),
    ),
    flags: words.slice(program + 1).filter((word) => word.startsWith("-")),
  };
};
