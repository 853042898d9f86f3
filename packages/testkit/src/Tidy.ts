// `tidy`: the habits of this repository as a test. The table of all rules, and the one function that applies them.

import { bans } from "./TidyBans.ts";
import * as TidyGraph from "./TidyGraph.ts";
import type { Rule } from "./TidyRule.ts";
import * as TidyShape from "./TidyShape.ts";
import type { Tree } from "./TidyTree.ts";

/** Shipped although no command reaches them today. */
export const kept: TidyGraph.Kept = {
  "packages/log/src/Url.ts":
    "opens either engine by its URL, for tests and for whoever embeds a service; the command line keeps sqlite files of its own",
};

export const rules: ReadonlyArray<Rule> = [
  TidyGraph.arrowsRule,
  TidyGraph.behindTheWireRule,
  TidyGraph.relativeImportsRule,
  TidyGraph.dependenciesRule,
  TidyGraph.cyclesRule,
  TidyGraph.deadFilesRule(kept),
  ...bans,
  TidyShape.lengthRule,
  TidyShape.headerRule,
  TidyShape.folderNamesRule,
  TidyShape.fileNamesRule,
  TidyShape.machinePathsRule,
  TidyShape.registryHostRule,
];

/** Every finding of every rule, one readable line each. */
export const check = (tree: Tree, applied: ReadonlyArray<Rule> = rules): ReadonlyArray<string> =>
  applied.flatMap((rule) =>
    rule.find(tree).map(({ path, line, message }) => `${path}:${line} [${rule.name}] ${message}`),
  );
