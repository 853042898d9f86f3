// `npm run bundle [-- FOLDER]`: the whole command in one file, social-harness.mjs in dist/ or in FOLDER, that needs Node 24 and
// nothing else, and beside it the licences of what it contains. For containers and small machines: one file is read once, starts sooner, and a daemon
// of it takes less memory than one from sources. An older Node reads it far enough to say that it is older (RUN-247).

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, parseSync } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = process.argv[2] ?? join(root, "dist");
const program = "social-harness.mjs";

/**
 * glibc gives each thread an arena of its own, which for a daemon that waits is memory lent to nobody. What V8 takes to parse a
 * file of this size, 20 MB in pieces of up to 32 KiB, glibc would keep for good; pieces above the threshold go back to the
 * system. V8 is told to mind the size of its heap.
 */
const firstLine =
  "#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=24576 node --optimize-for-size";

interface Chunk {
  readonly code: string;
  readonly modules: ReadonlyArray<string>;
}

const bundled = async (): Promise<Chunk> => {
  const result = await build({
    root,
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: "packages/cli/src/main.ts",
      write: false,
      // What an older Node could not even parse is put in older words; of what is in here that is next to nothing.
      target: "es2022",
      minify: true,
      rolldownOptions: { output: { codeSplitting: false, entryFileNames: program } },
    },
  });
  const outputs = Array.isArray(result)
    ? result.flatMap(({ output }) => output)
    : "output" in result
      ? result.output
      : [];
  const [chunk, ...others] = outputs.filter((output) => output.type === "chunk");
  if (chunk === undefined || others.length > 0)
    throw new Error(`the bundle is ${others.length + 1} files instead of one`);
  return { code: chunk.code, modules: Object.keys(chunk.modules) };
};

/**
 * With every character below 128, V8 keeps the text in half the memory. Inside strings and patterns an escape says the same;
 * in a raw template it would not.
 */
const toAscii = (code: string): string => {
  // eslint-disable-next-line no-control-regex
  if (/\braw`[^`]*[^\x00-\x7f]/.test(code))
    throw new Error("a raw template holds a character that would be changed");
  // eslint-disable-next-line no-control-regex
  return code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
};

/**
 * A static import of what a Node lacks fails before one line is run. Only Node's own modules are still imported: they become
 * dynamic imports, all at once and with the same meaning, behind what looks at the Node.
 */
const withLateImports = (code: string): string => {
  const imports = parseSync(program, code).module.staticImports;
  const bindings = imports.flatMap(({ moduleRequest: { value: module }, entries }) => {
    if (!isBuiltin(module)) throw new Error(`${module} is imported and not in the bundle`);
    const names: Array<string> = [];
    const patterns: Array<string> = [];
    for (const { importName, localName } of entries) {
      if (importName.kind === "NamespaceObject") patterns.push(localName.value);
      else names.push(`${importName.kind === "Default" ? "default" : importName.name}:${localName.value}`);
    }
    if (names.length > 0) patterns.push(`{${names.join(",")}}`);
    return patterns.map((pattern) => ({ pattern, call: `import(${JSON.stringify(module)})` }));
  });
  let rest = code;
  for (const { start, end } of imports.toReversed()) rest = rest.slice(0, start) + rest.slice(end);
  const [patterns, calls] = [bindings.map(({ pattern }) => pattern), bindings.map(({ call }) => call)];
  return `const[${patterns.join(",")}]=await Promise.all([${calls.join(",")}]);${rest}`;
};

/** The folder of the package that a module belongs to, or null for this repository's own. */
const packageOf = (module: string): string | null =>
  /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1] ?? null;

const noticeOf = (path: string): string => {
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const file = readdirSync(path).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? "" : readFileSync(join(path, file), "utf8").trim();
  return `${name} ${version} (${license ?? "see its licence"})\n\n${text}\n`;
};

const { code, modules } = await bundled();
const packages = [...new Set(modules.flatMap((module) => packageOf(module) ?? []))].filter((path) =>
  existsSync(join(path, "package.json")),
);
mkdirSync(folder, { recursive: true });
const file = join(folder, program);
const nodeCheck = readFileSync(join(root, "packages/cli/bin/NodeCheck.js"), "utf8");
writeFileSync(file, `${firstLine}\n${nodeCheck}${withLateImports(toAscii(code.replace(/^#!.*\n/, "")))}`);
chmodSync(file, 0o755);
const notices = packages.sort().map(noticeOf);
writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
const megabytes = (code.length / 1_048_576).toFixed(1);
process.stdout.write(`${file}: ${megabytes} MB, with ${packages.length} packages of others\n`);
