// `npm run requirements`: prints every clause of docs/spec beside the number of tests that cite it, and what is wrong.
// Exits with 1 when the gate of `npm test` would be red. Owns the disk access that Requirements.ts refuses.

import * as Requirements from "./Requirements.ts";
import * as TidyTree from "./TidyTree.ts";
import { fileURLToPath } from "node:url";

const tree = TidyTree.load(fileURLToPath(new URL("../../../", import.meta.url)));
const pages = Requirements.pagesIn(tree);
const problems = Requirements.check(pages, tree.sources);

process.stdout.write(`${Requirements.table(Requirements.gather(pages, tree.sources))}\n`);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
