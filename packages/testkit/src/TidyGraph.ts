// The rules about who imports whom: arrows between packages, cycles, declared dependencies, dead files.
// Reads the imports that TidySyntax found; resolves them without touching the disk.

import { posix } from "node:path";
import type { Finding, Rule } from "./TidyRule.ts";
import type { Import } from "./TidySyntax.ts";
import type { Manifest, SourceFile, Tree } from "./TidyTree.ts";

const scope = "@social-harness/";

/**
 * What each package may import in its sources, itself aside. Registry and Router never see the endpoint; the endpoint
 * sees their clients only; a client stands on the protocol alone; nothing shipped sees the testkit.
 */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  protocol: [],
  log: ["protocol"],
  registry: ["log", "protocol"],
  router: ["log", "protocol"],
  endpoint: ["registry", "router", "protocol"],
  client: ["protocol"],
  hosts: ["client", "protocol"],
  cli: ["hosts", "client", "endpoint", "router", "registry", "log", "protocol"],
  testkit: ["cli", "hosts", "client", "endpoint", "router", "registry", "log", "protocol"],
};

/** Shipped files that only tests reach, each with the reason why it is shipped all the same. */
export type Kept = Readonly<Record<string, string>>;

/** The path of the repository's own file that an import names, or null for a foreign module. */
const resolve = (from: SourceFile, { specifier }: Import): string | null => {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(from.path), specifier);
  if (!specifier.startsWith(scope)) return null;
  const [folder, ...rest] = specifier.slice(scope.length).split("/");
  return `packages/${folder}/src/${rest.join("/")}.ts`;
};

const folderOf = (path: string): string | null => /^packages\/([^/]+)\//.exec(path)?.[1] ?? null;

export const arrowsRule: Rule = {
  name: "arrows",
  find: ({ sources }) =>
    sources.flatMap((file) =>
      file.imports.flatMap((imported): ReadonlyArray<Finding> => {
        const target = resolve(file, imported);
        const to = target === null ? null : folderOf(target);
        const from = file.packageFolder;
        if (to === null || to === from || file.role !== "src" || from === null) return [];
        if (arrows[from]?.includes(to)) return [];
        const allowed = arrows[from]?.join(", ") ?? "nothing: name the package in the table of arrows";
        const message = `${from} imports ${imported.specifier}; it may import ${allowed || "no other package"}`;
        return [{ path: file.path, line: imported.line, message }];
      }),
    ),
};

export const behindTheWireRule: Rule = {
  name: "behind the wire",
  find: ({ sources }) =>
    sources.flatMap((file) =>
      file.imports.flatMap((imported): ReadonlyArray<Finding> => {
        const target =
          file.role === "src" && file.packageFolder === "endpoint" ? resolve(file, imported) : null;
        if (target === null || !/^packages\/(registry|router)\/src\/service\//.test(target)) return [];
        const message = `${imported.specifier} is a service; the endpoint reaches services through their clients only`;
        return [{ path: file.path, line: imported.line, message }];
      }),
    ),
};

/**
 * Another package is named, never reached by a path. A test may also use the tools, which have no name, and the testkit
 * starts programs of other packages, which are processes and not modules.
 */
const mayReach = (from: SourceFile, target: string, { started }: Import): boolean =>
  folderOf(target) === from.packageFolder ||
  (from.role === "test" && folderOf(target) === null) ||
  (started && (from.role === "test" || from.packageFolder === "testkit"));

export const relativeImportsRule: Rule = {
  name: "relative imports",
  find: ({ sources }) =>
    sources.flatMap((file) =>
      file.imports.flatMap((imported): ReadonlyArray<Finding> => {
        const target = imported.specifier.startsWith(".") ? resolve(file, imported) : null;
        if (target === null || file.packageFolder === null || mayReach(file, target, imported)) return [];
        const message = `${imported.specifier} leaves the package; import ${scope}<package>/<path> instead`;
        return [{ path: file.path, line: imported.line, message }];
      }),
    ),
};

/** The npm name of a foreign import, or null for the platform's and the repository's own relative files. */
const packageNameOf = ({ specifier }: Import): string | null => {
  if (specifier.startsWith(".") || specifier.startsWith("node:")) return null;
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? `${parts[0]}/${parts[1]}` : (parts[0] as string);
};

/** What is never shipped may use whatever any package of the workspace has installed, and the workspace itself. */
const declares = (file: SourceFile, manifests: ReadonlyArray<Manifest>, name: string): boolean => {
  const shipped = file.role === "src" && file.packageFolder !== "testkit";
  if (!shipped && name.startsWith(scope)) return true;
  return manifests.some(
    ({ folder, name: own, dependencies, devDependencies }) =>
      (folder === file.packageFolder && (own === name || dependencies.includes(name))) ||
      (!shipped && (dependencies.includes(name) || devDependencies.includes(name))),
  );
};

export const dependenciesRule: Rule = {
  name: "declared dependencies",
  find: ({ sources, manifests }) =>
    sources.flatMap((file) =>
      file.imports.flatMap((imported): ReadonlyArray<Finding> => {
        const name = packageNameOf(imported);
        if (name === null || file.packageFolder === null || declares(file, manifests, name)) return [];
        const message = `${name} is not among the dependencies of packages/${file.packageFolder}/package.json; declare it there`;
        return [{ path: file.path, line: imported.line, message }];
      }),
    ),
};

/** Edges between the repository's own files. Starting a file makes it live and ties no knot: it runs by itself. */
const edges = (
  sources: ReadonlyArray<SourceFile>,
  counts: (imported: Import) => boolean = () => true,
): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    sources.map((file) => [
      file.path,
      file.imports.filter(counts).flatMap((imported) => resolve(file, imported) ?? []),
    ]),
  );

export const cyclesRule: Rule = {
  name: "import cycles",
  find: ({ sources }) => {
    const graph = edges(sources, ({ started }) => !started);
    const done = new Set<string>();
    const trail: Array<string> = [];
    const findings: Array<Finding> = [];
    const visit = (path: string): void => {
      const at = trail.indexOf(path);
      if (at !== -1) {
        const circle = [...trail.slice(at), path].join(" -> ");
        findings.push({ path, line: 1, message: `${circle}; move what both need into a file below them` });
        return;
      }
      if (done.has(path)) return;
      trail.push(path);
      for (const next of graph.get(path) ?? []) visit(next);
      trail.pop();
      done.add(path);
    };
    for (const path of graph.keys()) visit(path);
    return findings;
  },
};

const reachable = (
  graph: ReadonlyMap<string, ReadonlyArray<string>>,
  roots: ReadonlyArray<string>,
): ReadonlySet<string> => {
  const seen = new Set<string>();
  const open = [...roots];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    open.push(...(graph.get(path) ?? []));
  }
  return seen;
};

/** A file is dead when no binary and no npm script reaches it. The testkit lives as long as a test reaches it. */
export const deadFilesRule = (kept: Kept): Rule => ({
  name: "dead files",
  find: ({ sources, manifests }: Tree) => {
    const graph = edges(sources);
    const started = [...new Set(manifests.flatMap(({ entryPoints }) => entryPoints))];
    const shipped = reachable(graph, started);
    const alive = reachable(graph, [...started, ...Object.keys(kept)]);
    const tests = sources.filter(({ role }) => role === "test").map(({ path }) => path);
    const tested = reachable(graph, tests);
    const isDead = ({ path, role, packageFolder }: SourceFile): boolean => {
      if (role === "test" || role === "root") return false;
      return !alive.has(path) && !(packageFolder === "testkit" && tested.has(path));
    };
    return [
      ...sources.filter(isDead).map(({ path }) => ({
        path,
        line: 1,
        message:
          "no binary and no npm script reaches this file; remove it, or name it with its reason in the list of kept files",
      })),
      ...Object.keys(kept)
        .filter((path) => shipped.has(path) || !graph.has(path))
        .map((path) => ({
          path,
          line: 1,
          message: "is in the list of kept files without need; remove it there",
        })),
      ...started
        .filter((path) => !graph.has(path))
        .map((path) => ({ path, line: 1, message: "a package.json starts this file and it does not exist" })),
    ];
  },
});
