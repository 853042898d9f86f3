// A copy of the sources that the simulator stands on, in a temporary folder: what is changed there changes nothing here.
// Packages of this repository resolve into the copy, everything else to where it is installed.

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const scope = "@social-harness";
/** The packages whose sources a simulation imports. */
const packages = ["endpoint", "protocol", "router", "testkit"];

export interface SourceCopy {
  readonly folder: string;
  readonly read: (file: string) => string;
  readonly write: (file: string, source: string) => void;
  readonly remove: () => void;
}

/** A file of the repository itself, or null. */
export const readOriginal = (file: string): string | null => {
  try {
    return readFileSync(join(root, file), "utf8");
  } catch {
    return null;
  }
};

/** Copies the repository, or an earlier copy of it. */
export const create = (from: string = root): SourceCopy => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-mutant-"));
  for (const name of packages)
    for (const part of ["package.json", "src"])
      cpSync(join(from, "packages", name, part), join(folder, "packages", name, part), { recursive: true });
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, scope), { recursive: true });
  for (const name of packages) symlinkSync(join(folder, "packages", name), join(modules, scope, name));
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== scope) symlinkSync(join(root, "node_modules", name), join(modules, name));
  return {
    folder,
    read: (file) => readFileSync(join(folder, file), "utf8"),
    write: (file, source) => writeFileSync(join(folder, file), source),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
