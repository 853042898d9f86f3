// The rules about how files and folders look: names, length, the prose on top, and what may not stand in any text.

import type { Finding, Rule } from "./TidyRule.ts";
import type { Tree } from "./TidyTree.ts";

const linesMax = 400;
const headerLinesMax = 10;

const vagueNames = new Set("core common shared utils helpers lib types services layers".split(" "));

export const lengthRule: Rule = {
  name: "file length",
  find: ({ sources }) =>
    sources.flatMap(({ path, text }): ReadonlyArray<Finding> => {
      const lines = text.split("\n").length - 1;
      const message = `${lines} lines; at most ${linesMax}: split it by the nouns in it`;
      return lines > linesMax ? [{ path, line: linesMax + 1, message }] : [];
    }),
};

export const headerRule: Rule = {
  name: "prose header",
  find: ({ sources }) =>
    sources
      .filter(({ role }) => role === "src" || role === "bench" || role === "tools")
      .filter(({ text }) => {
        const header = /^(#!.*\n)?((\/\/.*\n)+)/.exec(text)?.[2] ?? "";
        const lines = header.split("\n").length - 1;
        return header.length < 40 || lines > headerLinesMax;
      })
      .map(({ path }) => ({
        path,
        line: 1,
        message: `open with 1 to ${headerLinesMax} lines of prose (// ...): what the file owns and what it refuses to know`,
      })),
};

const pathsOf = ({ sources, texts }: Tree): ReadonlyArray<string> =>
  [...sources, ...texts].map(({ path }) => path);

export const folderNamesRule: Rule = {
  name: "folder names",
  find: (tree) =>
    pathsOf(tree).flatMap((path) =>
      path
        .split("/")
        .slice(0, -1)
        .filter((folder) => vagueNames.has(folder.toLowerCase()))
        .map((folder) => ({
          path,
          line: 1,
          message: `a folder called ${folder} says nothing; name it for its noun`,
        })),
    ),
};

export const fileNamesRule: Rule = {
  name: "file names",
  find: ({ sources }) =>
    sources
      .filter(({ role, packageFolder }) => role === "src" && packageFolder !== "cli")
      .filter(({ path }) => !/\/([A-Z][A-Za-z0-9]*|main)\.ts$/.test(path))
      .map(({ path }) => ({
        path,
        line: 1,
        message: "name the file in PascalCase for the noun that it exports",
      })),
};

// Built from parts, so that the pattern does not find itself.
const machinePath = new RegExp(
  `(?<![\\w.~})\\]-])/(?:${["work", "root", "home/\\w+", "Users/\\w+"].join("|")})/`,
);
const foreignRegistry = /"resolved": "https?:\/\/|^registry\s*=/;

const inEveryLine = (name: string, pattern: RegExp, message: string): Rule => ({
  name,
  find: ({ sources, texts }) =>
    [...sources, ...texts].flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index): ReadonlyArray<Finding> =>
          pattern.test(line) ? [{ path, line: index + 1, message }] : [],
        ),
    ),
});

export const machinePathsRule = inEveryLine(
  "machine paths",
  machinePath,
  "a path of one machine; use a path relative to the repository or a temporary folder",
);

export const registryHostRule = inEveryLine(
  "package registry",
  foreignRegistry,
  "packages come from whatever public registry the client uses; remove the address",
);
