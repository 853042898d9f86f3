// The repository as tidy sees it: every source file with its place, and every package's manifest.
// Knows where things stand and reads them once; knows no rule.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as TidySyntax from "./TidySyntax.ts";

/** Where a source file stands. Only `src` is shipped. */
export type Role = "src" | "test" | "bench" | "tools" | "root";

export interface SourceFile extends TidySyntax.Syntax {
  /** Relative to the repository root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly role: Role;
  /** The folder under `packages/`, or null outside of them. */
  readonly packageFolder: string | null;
}

export interface Manifest {
  /** The folder under `packages/`, or "" for the root. */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: ReadonlyArray<string>;
  readonly devDependencies: ReadonlyArray<string>;
  /** Files that something outside of the sources starts: binaries and npm scripts. */
  readonly entryPoints: ReadonlyArray<string>;
}

export interface Tree {
  readonly sources: ReadonlyArray<SourceFile>;
  readonly manifests: ReadonlyArray<Manifest>;
  /** Every other text file that is part of the repository: documents, configuration, vectors. */
  readonly texts: ReadonlyArray<{ readonly path: string; readonly text: string }>;
}

const roleOf = (path: string): { readonly role: Role; readonly packageFolder: string | null } => {
  const [top, folder, kind] = path.split("/");
  if (top === "packages" && folder !== undefined) {
    return { role: kind === "test" ? "test" : "src", packageFolder: folder };
  }
  return { role: top === "bench" || top === "tools" ? top : "root", packageFolder: null };
};

const sourceFile = (path: string, text: string): SourceFile => ({
  path,
  text,
  ...roleOf(path),
  ...TidySyntax.read(path, text),
});

/** The fields of a package.json that rules ask about. */
const manifest = (folder: string, text: string): Manifest => {
  const parsed = JSON.parse(text) as {
    readonly name: string;
    readonly dependencies?: Record<string, string>;
    readonly devDependencies?: Record<string, string>;
    readonly bin?: Record<string, string>;
    readonly scripts?: Record<string, string>;
  };
  const here = folder === "" ? "" : `packages/${folder}/`;
  const started = Object.values(parsed.scripts ?? {}).flatMap(
    (script) => script.match(/[\w./-]+\.(?:ts|js|mjs)\b/g) ?? [],
  );
  return {
    folder,
    name: parsed.name,
    dependencies: Object.keys(parsed.dependencies ?? {}),
    devDependencies: Object.keys(parsed.devDependencies ?? {}),
    entryPoints: [...Object.values(parsed.bin ?? {}), ...started].map(
      (path) => here + path.replace(/^\.\//, ""),
    ),
  };
};

const ignoredFolders = new Set(["node_modules", ".git", "coverage", "__pycache__", "results"]);
const source = /\.(ts|js|mjs)$/;
const readable = /\.(md|json|txt|yml|yaml|py|sh|sql)$|(^|\/)(run|LICENSE|\.npmrc|\.gitignore|Dockerfile)$/;

const walk = (root: string, folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ignoredFolders.has(entry.name) ? [] : walk(root, path);
    return entry.isFile() ? [path] : [];
  });

/** Builds the tree from what stands in files, by path. */
export const of = (files: ReadonlyMap<string, string>): Tree => {
  const entries = [...files].map(([path, text]) => ({ path, text }));
  return {
    sources: entries.filter(({ path }) => source.test(path)).map(({ path, text }) => sourceFile(path, text)),
    manifests: entries.flatMap(({ path, text }) => {
      const folder = /^(?:packages\/([^/]+)\/)?package\.json$/.exec(path);
      return folder === null ? [] : [manifest(folder[1] ?? "", text)];
    }),
    texts: entries.filter(({ path }) => readable.test(path)),
  };
};

export const load = (root: string): Tree =>
  of(
    new Map(
      walk(root, "")
        .toSorted()
        .filter((path) => source.test(path) || readable.test(path))
        .map((path) => [path, readFileSync(join(root, path), "utf8")]),
    ),
  );
