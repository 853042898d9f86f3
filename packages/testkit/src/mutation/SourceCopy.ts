// A copy of the sources that the simulator stands on, or of all that the tests stand on, in a temporary folder: what is changed
// there changes nothing here. Packages of this repository resolve into the copy, everything else to where it is installed.

import {
  cpSync,
  existsSync,
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
interface Contents {
  readonly packages: ReadonlyArray<string>;
  /** Of each package, where it has them. */
  readonly parts: ReadonlyArray<string>;
  /** Beside the packages. */
  readonly rest: ReadonlyArray<string>;
}

const extents = {
  /** What a simulation imports. */
  simulation: {
    packages: ["endpoint", "protocol", "router", "testkit"],
    parts: ["package.json", "src"],
    rest: [],
  },
  /** What the tests run. */
  tests: {
    packages: ["cli", "endpoint", "log", "protocol", "registry", "router", "testkit"],
    parts: ["package.json", "src", "test", "bin"],
    rest: ["package.json", "tools", "vectors", "vitest.config.ts"],
  },
} as const satisfies Readonly<Record<string, Contents>>;
export type Extent = keyof typeof extents;

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
export const create = (from: string = root, extent: Extent = "simulation"): SourceCopy => {
  const { packages, parts, rest }: Contents = extents[extent];
  const folder = mkdtempSync(join(tmpdir(), "social-harness-mutant-"));
  const inPackages = packages.flatMap((name) => parts.map((part) => join("packages", name, part)));
  for (const path of [...inPackages, ...rest])
    if (existsSync(join(from, path))) cpSync(join(from, path), join(folder, path), { recursive: true });
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
