// The shape of a tidy rule and of what it finds.

import type { Tree } from "./TidyTree.ts";

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to do instead, one sentence. */
  readonly message: string;
}

export interface Rule {
  readonly name: string;
  readonly find: (tree: Tree) => ReadonlyArray<Finding>;
}
