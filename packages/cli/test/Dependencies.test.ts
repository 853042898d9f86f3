// What the command is made of, read from the lock file, the packages as they are installed, and the sources: none is built
// for one machine or asks for one Node 24, so that neither an upgrade of Node nor a system without a compiler can break it.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, posix } from "node:path";
import { expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { repositoryRoot } from "./Binary.ts";

type Names = Readonly<Record<string, unknown>>;

/** What the lock file says of one package. */
interface Locked {
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Names;
  readonly optionalDependencies?: Names;
  readonly peerDependencies?: Names;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly [field: string]: unknown;
}

const { packages } = JSON.parse(readFileSync(join(repositoryRoot, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** Where a package that stands at `from` finds `name`: in the nearest node_modules above it. */
const find = (name: string, from: string): string | null => {
  const path = posix.join(from, "node_modules", name);
  const found = packages[path];
  if (found !== undefined) return found.link === true ? (found.resolved ?? null) : path;
  return from === "." ? null : find(name, posix.dirname(from));
};

const dependenciesOf = (path: string): ReadonlyArray<string> => {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).flatMap((name) => {
    const found = find(name, path);
    if (found !== null) return [found];
    const mayLack = peerDependenciesMeta?.[name]?.optional === true || name in (optionalDependencies ?? {});
    if (!mayLack) throw new Error(`${path} needs ${name}, and the lock file has none for it`);
    return [];
  });
};

/** The packages of this repository and everything that they load. */
const shipped = (): ReadonlyArray<string> => {
  const reached = new Set(Object.keys(packages).filter((path) => /^packages\/[^/]+$/.test(path)));
  // A set that grows is walked to its new end.
  for (const path of reached) for (const one of dependenciesOf(path)) reached.add(one);
  return [...reached].sort();
};

const lockedForOne = ["hasInstallScript", "gypfile", "os", "cpu", "libc"];
const installScripts = ["preinstall", "install", "postinstall"];

/** What in a package is built for one kind of machine, or builds it when it is installed. */
const nativePartsIn = (folder: string): ReadonlyArray<string> => {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly gypfile?: boolean;
    readonly scripts?: Names;
  };
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return [
    ...Object.keys(manifest.scripts ?? {}).filter((name) => installScripts.includes(name)),
    ...(manifest.gypfile === true ? ["gypfile"] : []),
    ...files.filter((file) => basename(file) === "binding.gyp" || file.endsWith(".node")),
  ];
};

verifies("RUN-248", "C57 nothing that the command loads has a native build", () => {
  const paths = shipped();
  for (const name of [
    "effect",
    "@effect/platform-node",
    "@modelcontextprotocol/server",
    "ws",
    "re2js",
    "zod",
  ])
    expect(paths).toContain(`node_modules/${name}`);
  expect(paths).not.toContain("node_modules/vite");
  const native = paths.flatMap((path) => [
    ...lockedForOne.filter((field) => field in (packages[path] ?? {})).map((field) => `${path}: ${field}`),
    ...nativePartsIn(join(repositoryRoot, path)).map((part) => `${path}: ${part}`),
  ]);
  expect(native).toEqual([]);
});

verifies("RUN-248", "C57 an installation runs no script, and brings nothing for one machine but Node", () => {
  expect(Object.keys(packages).filter((path) => packages[path]?.["hasInstallScript"] === true)).toEqual([]);
  const { dependencies, optionalDependencies } = packages[""] ?? {};
  expect(dependencies).toBeUndefined();
  for (const name of Object.keys(optionalDependencies ?? {}))
    expect(name).toMatch(/^node-(bin-)?(linux|darwin|win)-(x64|arm64)$/);
});

/** Where a statement says `?1`: before 24.7 Node takes that for a name, and has no value for it. */
const numbered = /[(,=\s]\?[1-9]/;

verifies("RUN-251", "C57 no statement numbers its parameters, which not every Node 24 can bind", () => {
  const folders = Object.keys(packages).filter((path) => /^packages\/[^/]+$/.test(path));
  const sources = folders.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => join(repositoryRoot, folder, "src", file)),
  );
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter((file) => numbered.test(readFileSync(file, "utf8")))).toEqual([]);
  expect("INSERT INTO lane VALUES (?1, ?2)").toMatch(numbered);
});

verifies("RUN-248", "C57 a native build would be seen", () => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-native-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, "package.json"),
    '{ "gypfile": true, "scripts": { "install": "node-gyp rebuild" } }',
  );
  writeFileSync(join(folder, "binding.gyp"), "");
  writeFileSync(join(folder, "sqlite.node"), "");
  expect(nativePartsIn(folder)).toEqual(["install", "gypfile", "binding.gyp", "sqlite.node"]);
});
