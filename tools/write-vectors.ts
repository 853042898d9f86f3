// `npm run vectors`: writes every file of vectors/ anew from fixed seeds and removes list and JSON files that no family
// writes any more. Two runs write the same bytes.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as ProgramOptions from "@social-harness/testkit/ProgramOptions";
import { allFiles } from "./vectors/AllFiles.ts";

ProgramOptions.take({
  command: "npm run vectors",
  about: "Writes every file of vectors/ anew, from fixed seeds: two runs write the same bytes.",
  options: {},
});
const folder = join(import.meta.dirname, "..", "vectors");
const files = allFiles();

mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) {
  if (/\.(txt|json|jsonl)$/.test(name) && !files.has(name)) rmSync(join(folder, name));
}
for (const [name, text] of files) writeFileSync(join(folder, name), text);
console.log(`${files.size} vector files written`);
